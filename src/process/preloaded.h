/* SPDX-License-Identifier: MIT */
/*
 * PMPI tools that are in the process before start-up: preloaded, linked as a library, or part of
 * the program itself. A tool that the stack lists becomes a layer at its position there. The others
 * become layers above the stack if the loader finds their functions before those of libqmpi,
 * otherwise below it. The wrappers of a tool may be in libraries that the preloaded one needs.
 */
#ifndef QMPI_PROCESS_PRELOADED_H
#define QMPI_PROCESS_PRELOADED_H

#include "elf/elf.h"

#include <stdbool.h>

struct qmpi_thunk_deferred;
struct qmpi_layer;

struct qmpi_preloaded_tool {
    struct qmpi_elf_loaded object;  /* its library, or the program */
    struct qmpi_elf_loaded *needed; /* libraries that it needs, with wrappers of MPI functions */
    int needed_count;
    char *path;
    char *name;                           /* the tool's name */
    bool program;                         /* the program itself */
    bool in_front;                        /* the loader finds its functions before libqmpi's */
    bool taken;                           /* a layer is planned for it */
    struct qmpi_layer *layer;             /* that layer, from its loading on; NULL before */
    struct qmpi_thunk_deferred *deferred; /* results of dlsym before the stack was built; NULL:
                                             none */
};

/* Calls `is` for the names in LD_PRELOAD until it returns true. Returns whether it did. */
bool qmpi_preloaded_any_listed(bool (*is)(void *data, const char *name), void *data);

/* Finds the preloaded tools, once. */
void qmpi_preloaded_find(void);

/* The preloaded tools that qmpi_preloaded_find has found, in the loader's order. */
int qmpi_preloaded_count(void);
struct qmpi_preloaded_tool *qmpi_preloaded_get(int index);

/* Returns the preloaded tool that contains an address; NULL: none. The program itself is not
 * considered. */
struct qmpi_preloaded_tool *qmpi_preloaded_contains(const void *address);

/* Whether an object is a preloaded tool itself, and not only a library that a tool needs. */
bool qmpi_preloaded_is(const struct qmpi_elf_loaded *object);

/* Returns the address of a function that a tool defines; NULL: not defined. */
void *qmpi_preloaded_function(const struct qmpi_preloaded_tool *tool, const char *function);

/* These functions return the preloaded tool for an entry. `name` is the name of the tool, or the
 * file name or soname of one of its libraries; `path` is the file of such a library. NULL: none. */
struct qmpi_preloaded_tool *qmpi_preloaded_by_name(const char *name);
struct qmpi_preloaded_tool *qmpi_preloaded_by_file(const char *path);

/*
 * Returns the PMPI tool that defines `function` and that the loader finds before libqmpi. If there
 * are several, returns the one nearest to libqmpi; NULL: none.
 */
struct qmpi_preloaded_tool *qmpi_preloaded_in_front(const char *function);

#endif
