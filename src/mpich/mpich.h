/* SPDX-License-Identifier: MIT */
/*
 * MPICH's QMPI dialect: the older draft that MPICH's mpi.h declares. Its interceptors take a
 * context of one pointer, which says nothing, and the layer's tool_id; a tool asks for the function
 * below it together with that one's tool_id and calls it with them. Chains hold layers of either
 * kind: each node can be called in both ways, and of its two functions one is the tool's own.
 */
#ifndef QMPI_DIALECT_H
#define QMPI_DIALECT_H

#include "dispatch/chain.h"
#include "elf/loaded.h"
#include "generate/dialect_numbers.h"

#include <stdint.h>

/* As mpi.h's QMPI_Context, whose name <qmpi/qmpi.h> gives to another type. */
struct qmpi_dialect_context {
    void **storage_stack;
};

/* What a tool is given as its context and passes on. MPICH gives NULL; a node is in the register
 * already. Nothing reads it: tools may keep an old one, or make one up. */
static inline struct qmpi_dialect_context qmpi_opaque(QMPI_Context node)
{
    return (struct qmpi_dialect_context){(void **)(uintptr_t)node};
}

/* The generated ends; all NULL for a function that the dialect has no number for. */
struct qmpi_dialect_ends {
    qmpi_function *enter; /* MPI_X's signature: MPI_X itself, with a layer of the dialect on top */
    qmpi_function *into;  /* QMPI_X_t: the function of a node of the dialect */
    qmpi_function *through; /* the dialect's signature: to the node at the tool_id that is given */
    qmpi_function *base;    /* the dialect's signature: to PMPI_X */
    qmpi_function *near[QMPI_CHAIN_NEAR]; /* as through, for one layer alone; see qmpi_chain_near */
};
extern const struct qmpi_dialect_ends qmpi_dialect_ends[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* From the dialect's numbers to ours; what we have no number for is a function that MPI lacks. */
extern const short qmpi_dialect_numbers[QMPI_DIALECT_COUNT + 1] QMPI_HIDDEN;

/* The node that a pointer in a table leads to. */
static inline const struct qmpi_node *qmpi_node_at(const qmpi_atomic_context *place)
{
    return (const struct qmpi_node *)__atomic_load_n((const QMPI_Context *)place, __ATOMIC_ACQUIRE);
}

/* Whatever number a tool comes with, some node is there. */
static inline QMPI_Context qmpi_dialect_at(int tool_id, int number)
{
    return __atomic_load_n(&qmpi_chain_rows[(unsigned char)tool_id][number], __ATOMIC_ACQUIRE);
}

/* The node at the layer that `place` others stand below. */
static inline QMPI_Context qmpi_dialect_near(int place, int number)
{
    return __atomic_load_n(&qmpi_chain_near[place][number], __ATOMIC_ACQUIRE);
}

/* The text of an address, as 0x and hexadecimal digits. */
struct qmpi_dialect_address {
    const void *address;
    char text[2 + 2 * sizeof(void *) + 1];
};

/*
 * Always the same for the same address; it lives for the whole run and never changes. In
 * address_text.c. Any thread; takes no lock, so that a signal handler may interrupt it and come
 * here itself.
 */
const struct qmpi_dialect_address *qmpi_dialect_address(const void *address);

/*
 * Where the loader finds the MPI library's calls of this name before ours: leads all who use them,
 * and all who come to, to ours, object by object; of those that it does not concern nothing is
 * changed, and none may still be loading. One thread at a time. In override.c.
 */
bool qmpi_dialect_is_hidden(void);
bool qmpi_dialect_concerns(const struct qmpi_elf_loaded *object);
void qmpi_dialect_claim(const struct qmpi_elf_loaded *object);

/*
 * Whether a tool that is announced under `name` is of the dialect and not asked for: `code` is some
 * of its code and `path` the file of that. In registry/tool_filter.c.
 */
bool qmpi_dialect_is_left_out(const char *name, const void *code, const char *path);

#endif
