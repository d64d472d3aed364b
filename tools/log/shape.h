/* SPDX-License-Identifier: MIT */
/* A shape describes how the arguments of a function are shown. It holds everything that is the same
 * in all calls of the function and is derived from the traits of the function and of its
 * parameters. */
#ifndef QMPI_TOOL_LOG_SHAPE_H
#define QMPI_TOOL_LOG_SHAPE_H

#include <qmpi/traits.h>

#include <stdbool.h>
#include <stddef.h>

enum { SHAPE_PARAMETERS = 24 };

/* A piece of constant text. */
struct shape_piece {
    const char *text;
    size_t length;
};

struct shape {
    struct shape_piece name; /* "MPI_Send" */
    int count;               /* number of parameters, at most SHAPE_PARAMETERS */
    struct {
        struct shape_piece label;                   /* "(buf=" or ", count=" */
        unsigned char direction, constants, length; /* see QMPIX_Parameter_traits */
        signed char of; /* parameter that the length depends on; -1 for none */
        /* For a string that the call writes, this is the parameter that holds the size of its
         * buffer. */
        signed char string_of;
    } shown[SHAPE_PARAMETERS];
    /* These are the indices of parameters that the log needs to show a call, or -1. `datatype` is
     * the datatype of the data that is received or, if none is received, the first datatype. */
    signed char comm, root, flag, datatype, request;
    bool has_error;  /* the function returns an error code */
    bool has_status; /* the source and tag of its statuses are meaningful */
    bool completes;  /* its statuses may belong to cancelled operations */
    bool is_sized; /* the lengths of arrays depend on the number of processes of the communicator */
};

/* Returns the shape of a function, which stays valid until the process ends, or NULL if memory is
 * exhausted. Any thread may call this function. */
const struct shape *shape_of(const QMPIX_Function *function);

#endif
