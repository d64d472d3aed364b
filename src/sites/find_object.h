/* SPDX-License-Identifier: MIT */
/* The look-up of objects by glibc 2.35 and later, which takes no lock. */
#ifndef QMPI_SITES_FIND_OBJECT_H
#define QMPI_SITES_FIND_OBJECT_H

#include <link.h>

/* The beginning of struct dl_find_object, and room for the rest of it. */
struct qmpi_find_object_result {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[8];
};

/* The function _dl_find_object of the C library of this process, or NULL if it has none. */
extern int (*qmpi_find_object)(void *address, struct qmpi_find_object_result *found)
    __attribute__((visibility("hidden")));

#endif
