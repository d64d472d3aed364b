/* SPDX-License-Identifier: MIT */
/*
 * How layers of MPICH's dialect (mpich/) are called: another convention, so that each node of a
 * chain has two functions, of which one is the tool's own.
 */
#ifndef QMPI_DISPATCH_MPICH_CONVENTION_H
#define QMPI_DISPATCH_MPICH_CONVENTION_H

#include "dispatch/stubs.h"
#include "generate/dialect_numbers.h"

#include <stdint.h>

/* As mpi.h's QMPI_Context, whose name <qmpi/qmpi.h> gives to another type. */
struct qmpi_mpich_context {
    void **storage_stack;
};

/* What a tool is given as its context and passes on. MPICH gives NULL; a node is in the register
 * already. Nothing reads it: tools may keep an old one, or make one up. */
static inline struct qmpi_mpich_context qmpi_opaque(QMPI_Context node)
{
    return (struct qmpi_mpich_context){(void **)(uintptr_t)node};
}

/* The generated ends; all NULL for a function that the dialect has no number for. */
struct qmpi_mpich_terminators {
    qmpi_function *enter; /* MPI_X's signature: MPI_X itself, with a layer of the dialect on top */
    qmpi_function *into;  /* QMPI_X_t: the function of a node of the dialect */
    qmpi_function *through; /* the dialect's signature: to the node at the tool_id that is given */
    qmpi_function *base;    /* the dialect's signature: to PMPI_X */
    qmpi_function *fast[QMPI_CHAIN_FAST]; /* as through, for one layer alone; see qmpi_chain_fast */
};
extern const struct qmpi_mpich_terminators qmpi_mpich_terminators[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* From the dialect's numbers to ours; what we have no number for is a function that MPI lacks. */
extern const short qmpi_mpich_numbers[QMPI_MPICH_COUNT + 1] QMPI_HIDDEN;

/* The node that a pointer in a table leads to. */
static inline const struct qmpi_node *qmpi_node_at(const qmpi_atomic_context *place)
{
    return (const struct qmpi_node *)__atomic_load_n((const QMPI_Context *)place, __ATOMIC_ACQUIRE);
}

/* Whatever number a tool comes with, some node is there. */
static inline QMPI_Context qmpi_mpich_at(int tool_id, int number)
{
    return __atomic_load_n(&qmpi_chain_nodes[(unsigned char)tool_id][number], __ATOMIC_ACQUIRE);
}

/* The node at the layer that `place` others stand below. */
static inline QMPI_Context qmpi_mpich_fast(int place, int number)
{
    return __atomic_load_n(&qmpi_chain_fast[place][number], __ATOMIC_ACQUIRE);
}

#endif
