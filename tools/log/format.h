/* SPDX-License-Identifier: MIT */
/*
 * How the arguments of a function are shown: which the call reads and which it writes, what their
 * numbers mean, how long their arrays are. mpi.h tells names and types, but not these: tables here
 * go by the names of functions and parameters, which are the MPI standard's.
 */
#ifndef QMPI_TOOL_LOG_FORMAT_H
#define QMPI_TOOL_LOG_FORMAT_H

#include "constants.h"

#include <qmpi/observer.h>

enum direction {
    DIRECTION_IN,    /* read by the call: shown as it was before */
    DIRECTION_OUT,   /* written: shown as it is after */
    DIRECTION_INOUT, /* both */
    DIRECTION_ADDRESS
};

/* How many elements there are. */
enum length {
    LENGTH_ONE,
    LENGTH_OF,      /* as parameter `of` says */
    LENGTH_OF_ROOT, /* the same; there is anything at the root alone */
    LENGTH_SUM,     /* as the elements of array `of` are together */
    LENGTH_SUM_ROOT,
    LENGTH_LAST,    /* as the last element of array `of` says */
    LENGTH_STRINGS, /* until a NULL */
    LENGTH_STRINGS_ROOT,
    LENGTH_STATUS, /* of a status in Fortran */
    LENGTH_PEERS,  /* processes in the communicator, in its remote group if it has one */
    LENGTH_PEERS_ROOT,
    LENGTH_LOCAL, /* processes in the local group */
    LENGTH_INDEGREE,
    LENGTH_OUTDEGREE,
    LENGTH_DIMENSIONS,
    LENGTH_NODES, /* of a graph, and so on: at most what `of` says */
    LENGTH_EDGES,
    LENGTH_NEIGHBORS,
    LENGTH_INTEGERS, /* of a datatype's contents */
    LENGTH_ADDRESSES,
    LENGTH_COUNTS,
    LENGTH_DATATYPES
};

enum { SHAPE_PARAMETERS = 24 };

/* Of constant text. */
struct piece {
    const char *text;
    size_t length;
};

struct shape {
    struct piece name; /* "MPI_Send" */
    int count;         /* of parameters, at most SHAPE_PARAMETERS */
    struct {
        struct piece label; /* "(buf=" or ", count=" */
        unsigned char direction, how, length;
        unsigned char address; /* see handles.h */
        signed char of;        /* a parameter; -1: none */
        signed char string_of; /* of a string that is written: the parameter that says how much room
                                  it has */
    } shown[SHAPE_PARAMETERS];
    /* Parameters that others depend on; -1: none. `datatype` is that of what is received. */
    signed char comm, root, flag, datatype, request;
    bool has_error;  /* the result is an error code */
    bool has_status; /* whose source and tag say something */
    bool completes;  /* a status may be of what was cancelled */
    bool is_sized;   /* lengths depend on the communicator's processes */
};

/* The shape of a function; it lives for the whole run. NULL: memory is out. Any thread. */
const struct shape *shape_of(const QMPIX_Function *function);

#endif
