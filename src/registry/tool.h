/* SPDX-License-Identifier: MIT */
/*
 * The registered QMPI tools: linked, preloaded, or loaded for an entry of the stack. A constructor
 * of a tool's library registers the tool with QMPI_Register_tool_name. Registration ends when the
 * stack has been built.
 */
#ifndef QMPI_REGISTRY_TOOL_H
#define QMPI_REGISTRY_TOOL_H

#include "functions/functions.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

/* QMPI_Register_tool_name and QMPI_Register_tool_storage under names that only libqmpi has. MPICH's
 * library defines functions of the original names, too, which the loader may find first. */
__typeof__(QMPI_Register_tool_name) qmpi_tool_register_name QMPI_HIDDEN;
__typeof__(QMPI_Register_tool_storage) qmpi_tool_register_storage QMPI_HIDDEN;

struct qmpi_tool {
    char *name;
    void (*init)(int tool_id);
    const QMPIX_Tool_info *info; /* NULL: none */
    const void *library;         /* link_map of the object that contains `init` */
    char *path;                  /* the file of this object */
    int load; /* the number of the library load that registered the tool; 0: it was registered
                 before all loads */
    struct qmpi_tool *next;
};

/* Returns the registered tool of this name, or NULL if there is none. */
struct qmpi_tool *qmpi_tool_find(const char *name);

/*
 * Opens the library at `path`, whose constructors register tools, and returns the tool that it
 * registers. If it registers several, returns the one named `name`. `passed_by` tells whether the
 * loader finds the MPI library before libqmpi. On failure, returns NULL and sets *problem, which
 * the caller frees. Only one thread at a time may call this.
 */
struct qmpi_tool *qmpi_tool_load(const char *path, const char *name, bool passed_by,
                                 char **problem);

/* Returns a comma-separated list of the registered names, which the caller frees. */
char *qmpi_tool_list_names(void);

/* Ends the registration of tools. */
void qmpi_tool_end_registration(void);

#endif
