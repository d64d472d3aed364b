/* SPDX-License-Identifier: MIT */
/*
 * The layers: one per entry of QMPI_TOOLS, with its tool, its options, its storage and the
 * functions that it registered. A layer that had to be left out (QMPI_ON_ERROR=skip) after tool_ids
 * were given keeps its number and intercepts nothing.
 */
#ifndef QMPI_REGISTRY_LAYER_H
#define QMPI_REGISTRY_LAYER_H

#include "config/tool_list.h"
#include "dispatch/chain.h"
#include "process/preloaded.h"
#include "registry/objects.h"
#include "registry/tool.h"

struct qmpi_layer {
    int tool_id;
    const struct qmpi_entry *entry;
    char *path; /* the library to load; NULL: the tool is announced already */
    struct qmpi_tool *tool;
    char *name; /* the tool's name, or the entry's until the tool is known */
    struct qmpi_preloaded_tool
        *preloaded;           /* hosted: the loaded object that is adopted; NULL: to be loaded */
    struct qmpi_group *group; /* hosted: the objects that it consists of */
    bool again;               /* hosted: its library was in the process already */
    bool shares;              /* hosted: its libraries are copies of ones that others use */
    char *details;            /* a line about how the layer is bound; NULL: none */
    char **environment;       /* hosted: what it sees as environ; NULL: nobody asked */
    char *failure;            /* what the layer said with QMPIX_Tool_fail */
    bool mpich;               /* it has made a call that only MPICH's dialect has */
    /* By function number. */
    qmpi_function **functions; /* its interceptors */
    qmpi_function **crossing;  /* those of MPICH's dialect, instead; NULL: none */
    qmpi_function **observing; /* its observer's, which stand above those; NULL: none */
};

/* Makes room for the layers 1 … count; the entries live for the whole run. */
void qmpi_layer_start(int count);

/* The layer of this tool_id; NULL: no such layer. */
struct qmpi_layer *qmpi_layer_get(int tool_id);

/* The value of an option as the entry gives it; NULL: not given. */
const char *qmpi_layer_option(const struct qmpi_layer *layer, const char *key);

/* Whether its init is running, in which a layer registers what it has. */
bool qmpi_layer_is_initialising(const struct qmpi_layer *layer);

/* Runs the tool's init for this layer; NULL, or what is wrong (to be freed). */
char *qmpi_layer_init(struct qmpi_layer *layer);

/*
 * Lets the layer intercept a function: `fp` is of MPICH's dialect or not. The last call for a
 * function holds. MPI_ERR_OTHER: its init is not running.
 */
int qmpi_layer_intercept(int tool_id, int number, qmpi_function *fp, bool mpich);

/* Takes back whatever the layer registered. */
void qmpi_layer_leave_out(struct qmpi_layer *layer);

#endif
