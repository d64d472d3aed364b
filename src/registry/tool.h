/* SPDX-License-Identifier: MIT */
/*
 * The tools that have announced themselves: linked in, preloaded, or loaded for an entry of
 * QMPI_TOOLS. Announcing is open until the stack is built.
 */
#ifndef QMPI_REGISTRY_TOOL_H
#define QMPI_REGISTRY_TOOL_H

#include <qmpi/qmpi.h>

#include <stdbool.h>

struct qmpi_tool {
    char *name;
    void (*init)(int tool_id);
    const QMPIX_Tool_info *info; /* NULL: none */
    const void *library;         /* the loader's link_map of the object that holds `init` */
    char *path;                  /* that object's file */
    int load; /* the load of a library during which it was announced; 0: before */
    struct qmpi_tool *next;
};

/* The announced tool of this name; NULL: none. */
struct qmpi_tool *qmpi_registration_find(const char *name);

/* The tool that a library announced: by its link_map, or else during the load of that number.
 * `count` is set to how many tools it announced; the first of them is returned. */
struct qmpi_tool *qmpi_registration_of_library(const void *library, int load, int *count);

/* From now on tools announced belong to load number `load`; what they could not announce, because
 * the name was taken, is kept for qmpi_registration_refused. */
void qmpi_registration_begin_load(int load);

/* The tool whose name the present load tried to take; NULL: none. */
struct qmpi_tool *qmpi_registration_refused(void);

/* A comma-separated list of the announced names; the caller frees it. */
char *qmpi_registration_list(void);

/* No more announcing. */
void qmpi_registration_close(void);

#endif
