/* SPDX-License-Identifier: MIT */
/*
 * PMPI tools that are in the process before start-up: preloaded, linked as a library, or part of
 * the program itself. Listed tools become a layer at their position in the stack. The others become
 * layers above the stack if the loader finds their functions before those of libqmpi, otherwise
 * below it.
 */
#ifndef QMPI_PROCESS_PRELOADED_H
#define QMPI_PROCESS_PRELOADED_H

#include "elf/elf.h"

#include <stdbool.h>

struct qmpi_deferred;
struct qmpi_layer;

struct qmpi_preloaded_tool {
    struct qmpi_elf_loaded object;
    char *path;
    char *name;                     /* the tool's name */
    bool program;                   /* the program itself */
    bool in_front;                  /* the loader finds its functions before libqmpi's */
    bool taken;                     /* it has become a layer */
    struct qmpi_layer *layer;       /* that layer, once it is built */
    struct qmpi_deferred *deferred; /* what it found by dlsym before; NULL: nothing */
};

/* The name of the tool that a PMPI tool's library is: its file name without `lib` and `.so…`. */
char *qmpi_preloaded_tool_name(const char *path);

/* Finds them; once. */
void qmpi_preloaded_find(void);

/* All of them, in the loader's order. */
int qmpi_preloaded_count(void);
struct qmpi_preloaded_tool *qmpi_preloaded_get(int index);

/* Returns the preloaded tool that contains an address; NULL: none. The program itself is not
 * considered. */
struct qmpi_preloaded_tool *qmpi_preloaded_contains(const void *address);

/* Returns the preloaded tool for an entry: by name of the tool, file name, soname, or file. */
struct qmpi_preloaded_tool *qmpi_preloaded_by_name(const char *name);
struct qmpi_preloaded_tool *qmpi_preloaded_by_file(const char *path);

/*
 * The PMPI tool that defines `function` and is found before libqmpi; of several the one nearest to
 * it. NULL: none.
 */
struct qmpi_preloaded_tool *qmpi_preloaded_in_front(const char *function);

#endif
