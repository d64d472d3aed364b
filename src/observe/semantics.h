/* SPDX-License-Identifier: MIT */
/* The meaning of each MPI function: its description, its traits and the roles of its arguments, as
 * src/generate/semantics.py defines them; and functions that read arguments from a record. */
#ifndef QMPI_OBSERVE_SEMANTICS_H
#define QMPI_OBSERVE_SEMANTICS_H

#include "generate/shapes.h"
#include "observe/record.h"

/* ---- The descriptions of functions ----------------------------------------------------------- */

/*
 * The descriptions of all functions. They are generated without pointers, so that they need no
 * relocations in a process without observers, and are unpacked together when one of them is first
 * needed.
 */

struct qmpi_semantics_parameter {
    unsigned short name, type; /* places in qmpi_description_strings */
    unsigned char kind, indirection, is_array, is_const;
    unsigned char constants, direction, length; /* see <qmpi/traits.h> */
    signed char of;                             /* an index of a parameter; -1: none */
    unsigned short size;
};

struct qmpi_semantics_function {
    unsigned group; /* QMPIX_GROUP_…; 0: this MPI lacks the function */
    unsigned char result;
    unsigned short parameters; /* the first one's place in qmpi_packed_parameters */
    unsigned char parameter_count;
};

extern const char qmpi_description_strings[] QMPI_HIDDEN;
extern const struct qmpi_semantics_parameter qmpi_packed_parameters[] QMPI_HIDDEN;
extern const int qmpi_packed_parameter_count QMPI_HIDDEN;
extern const struct qmpi_semantics_function qmpi_packed_functions[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Fills qmpi_described in the first call. May be called by any thread. */
void qmpi_semantics_describe_all(void);

/* ---- The meaning of functions ---------------------------------------------------------------- */

/*
 * The meaning of a call: its shape (the kind of transfer) and the roles of its arguments, generated
 * from the names of the parameters.
 */

struct qmpi_semantics {
    unsigned short flags;                         /* QMPIX_TRAIT_… */
    unsigned char role, collective, flow, access; /* see <qmpi/traits.h> */
    unsigned char shape;                          /* enum qmpi_shape */
    /* The roles, as in QMPIX_Traits. Each is the index of its argument + 1; 0: no such
     * argument. */
    unsigned char send_buffer, send_count, send_type;
    unsigned char receive_buffer, receive_count, receive_type;
    unsigned char destination, source, send_tag, receive_tag, root, op, partitions;
    unsigned char comm, window, file, created, status, message;
    unsigned char request;  /* one, or the array */
    unsigned char requests; /* the number of elements of the array */
    unsigned char statuses, flag, index, indices, outcount;
};
extern const struct qmpi_semantics qmpi_meanings[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

static inline bool qmpi_semantics_has(const struct qmpi_semantics *meaning, unsigned trait)
{
    return meaning->flags & trait;
}

static inline const struct qmpi_semantics *qmpi_semantics_of(const QMPIX_Call *call)
{
    return &qmpi_meanings[call->function->number];
}

/* The argument of a role, with its C type. */
#define QMPI_ARGUMENT(call, role, type) (*(type const *)(call)->arguments[(role)-1])

/* Element `i` of an argument that is a count, or an array of counts, of the type int or MPI_Count.
 */
MPI_Count qmpi_semantics_count(const QMPIX_Call *call, int role, int i);

/* Element `i` of an argument that is a datatype or an array of datatypes. */
MPI_Datatype qmpi_semantics_type(const QMPIX_Call *call, int role, int i);

/* Whether the argument of a role is a pointer: for counts and datatypes, an array with one element
 * per process or neighbor. */
static inline bool qmpi_semantics_is_array(const QMPIX_Call *call, int role)
{
    return role && call->function->parameters[role - 1].indirection;
}

/* Whether the call has ended without an error, so that its arguments are valid. */
static inline bool qmpi_semantics_succeeded(const QMPIX_Call *call)
{
    return call->result &&
           (call->function->result != QMPIX_KIND_INT || *(const int *)call->result == MPI_SUCCESS);
}

/* Whether MPI can be queried about the arguments of the call now. */
bool qmpi_semantics_can_ask(const QMPIX_Call *call);

#endif
