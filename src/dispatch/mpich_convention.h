/* SPDX-License-Identifier: MIT */
/*
 * The calling convention for tools of MPICH's variant (mpich/). It differs from that of QMPI
 * layers, so each node of a chain has two functions, one of which is the interceptor of the tool.
 */
#ifndef QMPI_DISPATCH_MPICH_CONVENTION_H
#define QMPI_DISPATCH_MPICH_CONVENTION_H

#include "dispatch/stubs.h"
#include "generate/mpich_numbers.h"

#include <stdint.h>

/* The QMPI_Context of mpi.h; <qmpi/qmpi.h> uses this name for a different type. */
struct qmpi_mpich_context {
    void **storage_stack;
};

/* The context that a tool receives and passes on. MPICH passes NULL; here it is a node, which is in
 * the register already. It is never read: tools may save an old one or invent one. */
static inline struct qmpi_mpich_context qmpi_opaque(QMPI_Context node)
{
    return (struct qmpi_mpich_context){(void **)(uintptr_t)node};
}

/* The generated functions; all NULL for a function without a number in MPICH's variant. */
struct qmpi_mpich_terminators {
    qmpi_function
        *enter; /* signature of MPI_X: the target of MPI_X if a layer of this variant is on top */
    qmpi_function *into;    /* QMPI_X_t: calls a layer of this variant */
    qmpi_function *through; /* signature of this variant: to the node of the given tool_id */
    qmpi_function *base;    /* signature of this variant: to PMPI_X */
    qmpi_function
        *fast[QMPI_CHAIN_FAST]; /* like through, for one particular layer; see qmpi_chain_fast */
};
extern const struct qmpi_mpich_terminators qmpi_mpich_terminators[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Maps function numbers of this variant to those of QMPI; unknown functions are mapped to one that
 * MPI lacks. */
extern const short qmpi_mpich_numbers[QMPI_MPICH_COUNT + 1] QMPI_HIDDEN;

/* Returns the node to which an entry of a table points. */
static inline const struct qmpi_node *qmpi_node_at(const qmpi_atomic_context *place)
{
    return (const struct qmpi_node *)__atomic_load_n((const QMPI_Context *)place, __ATOMIC_ACQUIRE);
}

/* There is a node for any tool_id that a tool may pass. */
static inline QMPI_Context qmpi_mpich_at(int tool_id, int number)
{
    return __atomic_load_n(&qmpi_chain_nodes[(unsigned char)tool_id][number], __ATOMIC_ACQUIRE);
}

/* Returns the node of the layer with `place` layers below it. */
static inline QMPI_Context qmpi_mpich_fast(int place, int number)
{
    return __atomic_load_n(&qmpi_chain_fast[place][number], __ATOMIC_ACQUIRE);
}

#endif
