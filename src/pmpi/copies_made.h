/* SPDX-License-Identifier: MIT */
/* The library copies that have been created. They exist for the whole run. */
#ifndef QMPI_PMPI_COPIES_MADE_H
#define QMPI_PMPI_COPIES_MADE_H

#include <sys/types.h>

struct qmpi_layer;

/* Records a copy and its original. `soname` is that of the original; NULL: none. One thread at a
 * time. */
void qmpi_copies_add(const char *copy, const char *path, dev_t device, ino_t file,
                     const char *soname);

/* Returns the original of the copy with this path; the path itself if it is not a copy. */
const char *qmpi_copies_original(const char *path);

/*
 * Returns the path of the layer's copy of the library `name`: a path, a file name or a soname.
 * NULL: no copy.
 */
const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name);

#endif
