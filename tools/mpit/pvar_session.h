/* SPDX-License-Identifier: MIT */
/*
 * Performance variables that are followed for some time: a session with a started handle for each.
 * Those that appear later are taken in when they do.
 */
#ifndef QMPI_TOOL_MPIT_PVAR_SESSION_H
#define QMPI_TOOL_MPIT_PVAR_SESSION_H

#include "value.h"

struct variable;

struct watched {
    int index;
    char *name;
    int var_class;
    const struct value_type *type;
    int count; /* of elements */
    MPI_T_pvar_handle handle;
};

struct watch {
    int tool_id;
    bool has_world; /* MPI_COMM_WORLD may be used */
    bool (*wants)(void *data, const struct variable *variable);
    void *data;
    MPI_T_pvar_session session;
    int seen; /* variables looked at so far */
    struct watched *all;
    int count;
};

/* Begins to follow all that `wants` says. MPI_T is initialized. */
void watch_begin(struct watch *watch, int tool_id, bool has_world,
                 bool (*wants)(void *data, const struct variable *variable), void *data);

/* Takes in what has appeared since. */
void watch_extend(struct watch *watch);

/* The followed variable with this index; NULL: it is not followed. */
const struct watched *watch_find(const struct watch *watch, int index);

/* The present value, to be freed; NULL: it cannot be read. */
void *watch_read(const struct watch *watch, const struct watched *watched);

void watch_end(struct watch *watch);

/*
 * Makes a handle: `*count` is the number of elements. Variables bound to communicators are taken
 * for MPI_COMM_WORLD if `has_world`. NULL, or why there is none.
 */
const char *watch_open(int tool_id, MPI_T_pvar_session session, const struct variable *variable,
                       bool has_world, MPI_T_pvar_handle *handle, int *count);

#endif
