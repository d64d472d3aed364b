/* SPDX-License-Identifier: MIT */
/*
 * The layers: one per entry of QMPI_TOOLS, with its tool, options, storage and interceptors. A
 * layer that is left out (QMPI_ON_ERROR=skip) after tool_ids have been assigned keeps its number
 * and intercepts nothing.
 */
#ifndef QMPI_REGISTRY_LAYER_H
#define QMPI_REGISTRY_LAYER_H

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "process/process.h"
#include "registry/objects.h"
#include "registry/tool.h"

struct qmpi_layer {
    int tool_id;
    const struct qmpi_entry *entry;
    char *path; /* the library to load; NULL: the tool is registered already */
    struct qmpi_tool *tool;
    char *name; /* name of the tool; before it is known, name of the entry */
    struct qmpi_preloaded_tool
        *preloaded; /* PMPI layer: the object that is already loaded; NULL: not loaded yet */
    struct qmpi_group *group; /* PMPI layer: the objects that it consists of */
    bool again;               /* PMPI layer: its library was in the process already */
    bool shares;              /* PMPI layer: some of its libraries are copies */
    char *details;            /* a line that describes the kind of the layer; NULL: none */
    char **environment;       /* PMPI layer: its environ; NULL: not used */
    char *source;             /* what lists it; NULL: nobody has asked */
    char *failure;            /* the message of QMPIX_Tool_fail */
    bool mpich;               /* it has made a call that exists only in MPICH's variant */
    bool ready;               /* it is complete and was not left out; atomic */
    /* By function number. */
    qmpi_function **functions;       /* its interceptors */
    qmpi_function **mpich_functions; /* those for MPICH's variant instead; NULL: none */
    qmpi_function **observing;       /* those of its observer, above the others; NULL: none */
};

/* Allocates the layers 1 … count; the entries must exist for the whole run. */
void qmpi_layer_start(int count);

/* Returns the layer with this tool_id; NULL: none. */
struct qmpi_layer *qmpi_layer_get(int tool_id);

/* Whether the init function of the layer is running, which may register interceptors. */
bool qmpi_layer_is_initialising(const struct qmpi_layer *layer);

/* Runs the init function of the tool for this layer. Returns NULL, or a problem, which the caller
 * frees. */
char *qmpi_layer_init(struct qmpi_layer *layer);

/* As QMPI_Register_tool_function, for MPICH's variant. The last call for a function, of either,
 * counts. */
int qmpi_layer_intercept_mpich(int tool_id, int number, qmpi_function *fp);

/* Removes all interceptors of the layer. */
void qmpi_layer_leave_out(struct qmpi_layer *layer);

#endif
