/* SPDX-License-Identifier: MIT */
/*
 * What a call means: its shape (what kind of transfer it is) and which of its arguments play which
 * role in it; generated from the parameters' names. And how arguments are read out of a record.
 */
#ifndef QMPI_OBSERVE_SEMANTICS_H
#define QMPI_OBSERVE_SEMANTICS_H

#include "generate/shapes.h"
#include "observe/record.h"

/* Each role is the place of its argument + 1; 0: the function has no such argument. */
struct qmpi_meaning {
    unsigned char shape;      /* enum qmpi_shape */
    unsigned char immediate;  /* gives a request of an operation that it has started */
    unsigned char persistent; /* gives a request of an operation that MPI_Start starts */
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

/* The argument of a role, of its C type. */
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

/* Whether the call has returned MPI_SUCCESS: then its arguments were right. */
static inline bool qmpi_meaning_succeeded(const QMPIX_Call *call)
{
    return call->result &&
           (call->function->result != QMPIX_KIND_INT || *(const int *)call->result == MPI_SUCCESS);
}

/* Whether MPI can be asked about the call's arguments now. */
bool qmpi_meaning_can_ask(const QMPIX_Call *call);

#endif
