/* SPDX-License-Identifier: MIT */
/*
 * The meaning of a call: its shape (the kind of transfer) and the roles of its arguments, generated
 * from the names of the parameters; and functions that read arguments from a record.
 */
#ifndef QMPI_OBSERVE_SEMANTICS_H
#define QMPI_OBSERVE_SEMANTICS_H

#include "generate/shapes.h"
#include "observe/record.h"

/* Each role is the index of its argument + 1; 0: no such argument. */
struct qmpi_meaning {
    unsigned char shape;      /* enum qmpi_shape */
    unsigned char immediate;  /* returns a request of a started operation */
    unsigned char persistent; /* returns a request that MPI_Start starts */
    unsigned char send_buffer, send_count, send_type;
    unsigned char receive_buffer, receive_count, receive_type;
    unsigned char destination, source, send_tag, receive_tag, root, op, partitions;
    unsigned char comm, window, file, status, message;
    unsigned char request;  /* one, or the array */
    unsigned char requests; /* how many there are in the array */
    unsigned char statuses, flag, index, indices, outcount;
};
extern const struct qmpi_meaning qmpi_meanings[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

static inline const struct qmpi_meaning *qmpi_meaning_of(const QMPIX_Call *call)
{
    return &qmpi_meanings[call->function->number];
}

/* The argument of a role, with its C type. */
#define QMPI_ARGUMENT(call, role, type) (*(type const *)(call)->arguments[(role)-1])

/* Element `i` of an argument that is a count, or an array of counts; of any integer type. */
MPI_Count qmpi_meaning_count(const QMPIX_Call *call, int role, int i);

/* Element `i` of an argument that is a datatype, or an array of datatypes. */
MPI_Datatype qmpi_meaning_type(const QMPIX_Call *call, int role, int i);

/* Whether a role's argument is an array with one element per process. */
static inline bool qmpi_meaning_is_array(const QMPIX_Call *call, int role)
{
    return role && call->function->parameters[role - 1].indirection;
}

/* Whether the call has returned MPI_SUCCESS, so that its arguments are valid. */
static inline bool qmpi_meaning_succeeded(const QMPIX_Call *call)
{
    return call->result &&
           (call->function->result != QMPIX_KIND_INT || *(const int *)call->result == MPI_SUCCESS);
}

/* Whether MPI can be queried about the arguments of the call now. */
bool qmpi_meaning_can_ask(const QMPIX_Call *call);

#endif
