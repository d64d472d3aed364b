/* SPDX-License-Identifier: MIT */
/*
 * The registered tools: linked, preloaded, or loaded for an entry of QMPI_TOOLS. Tools may register
 * until the stack is built.
 */
#ifndef QMPI_REGISTRY_TOOL_H
#define QMPI_REGISTRY_TOOL_H

#include "functions/functions.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

/* QMPI_Register_tool_name and QMPI_Register_tool_storage under names that no other library has:
 * MPICH's library defines functions of these names, too, which the loader may find first. */
__typeof__(QMPI_Register_tool_name) qmpi_register_tool_name QMPI_HIDDEN;
__typeof__(QMPI_Register_tool_storage) qmpi_register_tool_storage QMPI_HIDDEN;

struct qmpi_tool {
    char *name;
    void (*init)(int tool_id);
    const QMPIX_Tool_info *info; /* NULL: none */
    const void *library;         /* link_map of the object that contains `init` */
    char *path;                  /* the file of this object */
    int load; /* number of the library load during which it was registered; 0: before */
    struct qmpi_tool *next;
};

/* Returns the registered tool of this name; NULL: none. */
struct qmpi_tool *qmpi_registration_find(const char *name);

/* Returns the first tool that a library registered, identified by its link_map or by the number of
 * its load. Sets `count` to the number of tools that it registered. */
struct qmpi_tool *qmpi_registration_of_library(const void *library, int load, int *count);

/* Assigns the tools registered from now on to load number `load`. A registration that fails because
 * its name is taken is recorded for qmpi_registration_refused. */
void qmpi_registration_begin_load(int load);

/* Returns the tool whose name the current load tried to register again; NULL: none. */
struct qmpi_tool *qmpi_registration_refused(void);

/* Returns a comma-separated list of the registered names, which the caller frees. */
char *qmpi_registration_list(void);

/* Ends the registration of tools. */
void qmpi_registration_close(void);

#endif
