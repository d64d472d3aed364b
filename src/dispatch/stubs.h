/* SPDX-License-Identifier: MIT */
/*
 * What the entries and the generated functions of a chain read, and the functions themselves: one
 * pointer or row each, which chain.c fills and start-up and switches of layers replace.
 */
#ifndef QMPI_DISPATCH_STUBS_H
#define QMPI_DISPATCH_STUBS_H

#include "functions/types.h"
#include "process/mpi_library.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

enum { QMPI_LAYERS_MAX = 255 };

/* The generated ends of a chain; all NULL for a function that this MPI lacks. */
struct qmpi_ends {
    qmpi_function *enter;     /* MPI_X's signature: notes the caller, calls the head's function */
    qmpi_function *base;      /* QMPI_X_t: drops the context, jumps to PMPI_X */
    qmpi_function *pmpi_tool; /* QMPI_X_t: drops the context, jumps to the hosted tool's MPI_X */
    qmpi_function *over;      /* MPI_X's signature, and the node in a register: see pmpi/thunk.h */
};
extern const struct qmpi_ends qmpi_ends[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Where MPI_X and PMPI_X jump to: in entries.S. */
extern qmpi_function *qmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *qmpi_pmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The entries MPI_X themselves, whatever the loader finds under those names. */
extern qmpi_function *const qmpi_entries[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* What ends the chains: the same, or in a stack with layers src/mpit's merged functions. */
extern qmpi_function *qmpi_terminators[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Where PMPI_X leads, once the chains are begun: to the MPI library, or to src/mpit where that must
 * count. */
extern qmpi_function *qmpi_pmpi_targets[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A context that others read while a layer is switched. */
typedef _Atomic(QMPI_Context) qmpi_atomic_context;

/* The node of the topmost layer that intercepts a function, or the base's. */
extern qmpi_atomic_context qmpi_heads[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * The frame of the generated function (qmpi_ends[].enter or .over) through which this thread's
 * present MPI call entered the native layers; NULL: there is no such call. Its return address is
 * the caller; where the program called a hosted tool on top itself, that is where the tool called
 * on, and the program's frame is found by unwinding from there. A nested call puts the outer frame
 * back when it returns, also by an exception; by longjmp it does not, and then qmpi_jumped_frame is
 * the frame that may no longer be in use.
 */
extern _Thread_local const void *qmpi_entry_frame QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));
extern _Thread_local const void *qmpi_jumped_frame QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));

/* Of a variable with the outer frame: it is put back where the variable ends. */
#define QMPI_LEAVES_FRAME __attribute__((cleanup(qmpi_leave_frame)))
static inline void qmpi_leave_frame(const void *const *outer)
{
    qmpi_entry_frame = *outer;
}

/* The code of the functions that set it. */
#define QMPI_TRAMPOLINE __attribute__((section("qmpi_trampolines")))
extern const char qmpi_trampolines_begin[] __asm__("__start_qmpi_trampolines") QMPI_HIDDEN;
extern const char qmpi_trampolines_end[] __asm__("__stop_qmpi_trampolines") QMPI_HIDDEN;

/* The code from which over_X calls where it did not set it: a layer amid the others. */
extern const char qmpi_thunks_amid_begin[] __asm__("__start_qmpi_thunks_amid") QMPI_HIDDEN;
extern const char qmpi_thunks_amid_end[] __asm__("__stop_qmpi_thunks_amid") QMPI_HIDDEN;

/* The node of the uppermost native layer of a function: all above it are hosted. NULL: there is
 * none. What hosted layers have kept may lead to another node of that layer. */
extern qmpi_atomic_context qmpi_first_natives[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A node and what we keep beside it, out of the ABI. */
struct qmpi_node {
    struct QMPIX_Node node;  /* the first member: a QMPI_Context points to it and so to this */
    struct qmpi_node *above; /* one of the nodes that have this one as their next */
    struct qmpi_node *same;  /* another node with the same next; NULL: the last one */
    qmpi_function *stub;     /* pmpi/next.c's, for hosted layers that stand on it; NULL: none yet */
    const void *observer;    /* of the layer; NULL: it has none */
    qmpi_function *mpich_function; /* how layers of MPICH's dialect call it; NULL: they cannot */
};

/* What stands beside a context. */
struct qmpi_node *qmpi_node_of(QMPI_Context context);

/*
 * [tool_id][number]: the node that is in force at layer `tool_id` or, where that has none for the
 * function, next below it. Every row is there, for any byte; rows of no layer are the base's.
 */
extern const QMPI_Context *qmpi_chain_nodes[QMPI_LAYERS_MAX + 2] QMPI_HIDDEN;

/*
 * Those of these rows, by how many layers stand below, that are where the generated functions know
 * them: what leads to such a layer need not be told its tool_id. Not of layer 1.
 */
enum { QMPI_CHAIN_FAST = 2 };
extern QMPI_Context qmpi_chain_fast[QMPI_CHAIN_FAST][QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * [tool_id][number]: the node next below layer `tool_id`, below 0 from MPI_X itself. There are rows
 * for all tool_ids below qmpi_chain_height, which is 0 before start-up; until a layer is
 * initialised its row holds NULL.
 */
extern unsigned qmpi_chain_height QMPI_HIDDEN;
extern const QMPI_Context *qmpi_chain_nexts[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

#endif
