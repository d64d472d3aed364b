/* SPDX-License-Identifier: MIT */
/*
 * The layers: one per entry of the stack, with its tool, options, storage and interceptors. A layer
 * that is left out (for example with QMPI_ON_ERROR=skip) after tool_ids have been assigned keeps
 * its number and intercepts nothing.
 */
#ifndef QMPI_REGISTRY_LAYER_H
#define QMPI_REGISTRY_LAYER_H

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "process/process.h"
#include "registry/tool.h"

/*
 * Loaded objects of a PMPI layer. One group contains the library of the tool and its private
 * dependencies; each library that the tool opens forms a further group with its private
 * dependencies. An address in an object identifies its layer. This is how dlsym and getenv, which
 * have no context argument, find the layer that calls them. All objects stay loaded for the whole
 * run.
 */
struct qmpi_layer_group {
    struct qmpi_layer *layer;
    struct qmpi_elf_loaded
        *objects; /* in the search order of the loader: the library of the tool first */
    int count;
    char *shares; /* a text that lists the libraries that the layer shares with other layers; NULL:
                     none */
    struct qmpi_layer_group *next;
};

struct qmpi_layer {
    int tool_id;
    const struct qmpi_tool_entry *entry;
    char *path; /* the tool's library, which is loaded for the layer unless `preloaded` is set;
                   NULL: the tool is registered already */
    struct qmpi_tool *tool; /* NULL until it is registered or, for a PMPI tool, loaded */
    char *name;             /* name of the tool; before it is known, name of the entry */
    struct qmpi_preloaded_tool *preloaded; /* PMPI layer: the tool that was preloaded; NULL: none,
                                              the library is loaded for the layer */
    struct qmpi_layer_group *group;        /* PMPI layer: the objects that it consists of */
    bool again;                            /* PMPI layer: its library was already in the process */
    bool has_copies;                       /* PMPI layer: some of its libraries are copies */
    char *details;       /* a line that describes the kind of the layer; NULL: none */
    char **environment;  /* PMPI layer: its environ; NULL: not used */
    char *source;        /* its origin: see QMPIX_Tool_get_source; NULL: it was not
                            requested yet */
    char *failure;       /* the message of QMPIX_Tool_fail */
    int refusals;        /* registrations in init that failed */
    const char *refused; /* the call that failed first */
    int refused_with;    /* the result of that call */
    bool mpich;          /* it has registered an interceptor of MPICH's variant */
    bool ready;          /* it is complete and was not left out; stored with release
                            last, loaded with acquire by other threads */
    /* By function number. */
    qmpi_function **functions;       /* its interceptors */
    qmpi_function **mpich_functions; /* its interceptors of MPICH's variant; NULL: none */
    qmpi_function **observing;       /* the interceptors of its observer, above its other ones;
                                        NULL: none */
};

/* Allocates the layers 1 … count. The caller sets their members `entry`, which must exist for the
 * whole run. */
void qmpi_layer_start(int count);

/* Returns the layer with this tool_id, or NULL if there is none. */
struct qmpi_layer *qmpi_layer_get(int tool_id);

/* Returns whether this thread is running the init function of the layer, which may register
 * interceptors. */
bool qmpi_layer_is_initialising(const struct qmpi_layer *layer);

/* Records if a registration has failed in an init function. Returns `result` in any case. After
 * init, a message reports such registrations. Each call by which a layer registers something calls
 * this function or the next one; `call` is its name. Calls that announce tools do not, because
 * constructors of other libraries make them, too, if an init function opens these. */
int qmpi_layer_note_registration(const char *call, int result);

/* For a registration that is allowed only in the init function of the layer: returns MPI_ERR_ARG if
 * there is no such layer or `is_valid` is false, MPI_ERR_OTHER outside this function, and otherwise
 * MPI_SUCCESS. Errors are recorded. */
int qmpi_layer_check_registration(const char *call, int tool_id, bool is_valid);

/* Runs the init function of the tool for this layer. Returns NULL, or a problem, which the caller
 * frees. */
char *qmpi_layer_init(struct qmpi_layer *layer);

/* Registers an interceptor of a layer whose init function is not running. */
typedef int qmpi_layer_late_intercept(int tool_id, int number, qmpi_function *fp);

/* Sets the implementation of QMPI_Register_tool_function for layers whose init function is not
 * running. Before this is called, QMPI_Register_tool_function returns MPI_ERR_OTHER for them. */
void qmpi_layer_use_switch(qmpi_layer_late_intercept *intercept);

/* Like QMPI_Register_tool_function in `init`, but for MPICH's variant. The last call for a function
 * counts, in either variant. */
int qmpi_layer_intercept_mpich(int tool_id, int number, qmpi_function *fp);

/* Removes the interceptors, the group and the storage of the layer. */
void qmpi_layer_leave_out(struct qmpi_layer *layer);

/* Creates a group of these objects, and publishes it. The first object is the library of the tool,
 * or the one that the tool opened. The group owns `shares`. May be called by any thread. */
struct qmpi_layer_group *qmpi_layer_group_make(struct qmpi_layer *layer,
                                               const struct qmpi_elf_loaded *objects, int count,
                                               char *shares);

/* Returns the group with an object that contains `address`, or NULL if there is none. May be called
 * by any thread, at any time. */
struct qmpi_layer_group *qmpi_layer_group_of(const void *address);

/* Returns the address of the function or variable `name`, or NULL if the group does not define
 * it. */
void *qmpi_layer_group_find(const struct qmpi_layer_group *group, const char *name);

/* Returns whether an object is the first of a group: the library of a tool, or a library that a
 * tool opened. */
bool qmpi_layer_group_begins_with(const struct qmpi_elf_loaded *object);

/* Returns the first group, or NULL if there is none. The member `next` of a group leads to the
 * others. */
struct qmpi_layer_group *qmpi_layer_group_first(void);

#endif
