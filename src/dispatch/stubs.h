/* SPDX-License-Identifier: MIT */
/*
 * The data that entry points and generated functions read, and these functions: single pointers or
 * rows, which chain.c fills, and which start-up and switching of layers replace.
 */
#ifndef QMPI_DISPATCH_STUBS_H
#define QMPI_DISPATCH_STUBS_H

#include "dispatch/arch/frame.h"
#include "functions/functions.h"
#include "process/process.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

enum { QMPI_LAYERS_MAX = 255 };

/* The generated functions of a chain; all NULL for a function that this MPI lacks. */
struct qmpi_ends {
    qmpi_function *enter; /* signature of MPI_X: the trampoline; stores the calling address, calls
                             the first node */
    qmpi_function *base;  /* QMPI_X_t: the terminator; drops the context, jumps to PMPI_X */
    qmpi_function *pmpi_tool; /* QMPI_X_t: drops the context, jumps to MPI_X of the PMPI tool */
    qmpi_function *over; /* signature of MPI_X, with the node in a register: see pmpi/thunk.h */
};
extern const struct qmpi_ends qmpi_ends[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The dispatch tables: targets of MPI_X and PMPI_X; in entries.S. */
extern qmpi_function *qmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *qmpi_pmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The entry points MPI_X of libqmpi, even if these names are interposed. */
extern qmpi_function *const qmpi_entries[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The terminators of the chains: qmpi_bases or, in a stack with layers, the merged functions of
 * src/mpit. */
extern qmpi_function *qmpi_terminators[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The targets of PMPI_X after qmpi_chain_start: the MPI library, or src/mpit for calls that it must
 * count. */
extern qmpi_function *qmpi_pmpi_targets[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A context that other threads may read while a layer is switched. */
typedef _Atomic(QMPI_Context) qmpi_atomic_context;

/* The first node of the chain of each function. */
extern qmpi_atomic_context qmpi_heads[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * A trampoline that is one function with that of the first layer, and whatever this function needs
 * in addition. A thread may be on the way to it while layers are switched, so qmpi_merged_heads
 * has the last one that was used for each function.
 */
struct qmpi_merged_head {
    qmpi_function *enter;
};
extern _Atomic(const struct qmpi_merged_head *) qmpi_merged_heads[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * The frame of the generated function (qmpi_ends[].enter or .over) through which the current MPI
 * call of this thread entered the QMPI layers; NULL: no such call. Its return address is the
 * calling address. If the program called a PMPI layer on top directly, the return address is in
 * this tool, and the frame of the program is found by unwinding from there. A nested call restores
 * the outer frame when it returns, also by an exception, but not by longjmp; qmpi_jumped_frame is
 * then the frame that may no longer be in use.
 */
extern _Thread_local const void *qmpi_entry_frame QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));
extern _Thread_local const void *qmpi_jumped_frame QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));

/* Cleanup attribute for a variable with the outer frame, which stays in the frame (`volatile`):
 * restores it at the end of the scope. */
#define QMPI_LEAVES_FRAME __attribute__((cleanup(qmpi_leave_frame)))
static inline void qmpi_leave_frame(const void *volatile const *outer)
{
    QMPI_SET_THREAD_POINTER(qmpi_entry_frame, *outer);
}

/* Sets it, and returns the outer one. In the function itself: it is that function's frame. */
#define QMPI_ENTER_FRAME() QMPI_SWAP_THREAD_POINTER(qmpi_entry_frame, QMPI_THIS_FRAME())

/* The code section of the functions that set it. */
#define QMPI_TRAMPOLINE __attribute__((section("qmpi_trampolines")))
extern const char qmpi_trampolines_begin[] __asm__("__start_qmpi_trampolines") QMPI_HIDDEN;
extern const char qmpi_trampolines_end[] __asm__("__stop_qmpi_trampolines") QMPI_HIDDEN;

/* The code section from which over_X calls a node if it did not set it, for a layer that is not the
 * topmost QMPI layer. */
extern const char qmpi_thunks_amid_begin[] __asm__("__start_qmpi_thunks_amid") QMPI_HIDDEN;
extern const char qmpi_thunks_amid_end[] __asm__("__stop_qmpi_thunks_amid") QMPI_HIDDEN;

/* The node of the topmost QMPI layer of a function; all layers above it are PMPI layers. NULL:
 * none. Pointers that PMPI layers have saved may lead to another node of this layer. */
extern qmpi_atomic_context qmpi_first_natives[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A node with further data that is not part of the ABI. */
struct qmpi_node {
    struct QMPIX_Node node;  /* the first member: a QMPI_Context points to it and so to this */
    struct qmpi_node *above; /* one of the nodes whose next node is this one */
    struct qmpi_node *same;  /* another node with the same next node; NULL: last */
    qmpi_function *stub;     /* the thunk of pmpi/next.c, for PMPI layers above; NULL: none yet */
    const void *observer;    /* the observer of the layer or of its run; NULL: none */
    const struct qmpi_merged_head *head; /* if it is the first node; NULL: the general trampoline */
    qmpi_function *mpich_function;       /* for calls from layers of MPICH's variant; NULL: none */
};

/* Returns the node of a context. */
struct qmpi_node *qmpi_node_of(QMPI_Context context);

/*
 * [tool_id][number]: the current node of layer `tool_id`, or the next node below if the layer does
 * not intercept the function. There is a row for each byte; rows without a layer contain the
 * terminators.
 */
extern const QMPI_Context *qmpi_chain_nodes[QMPI_LAYERS_MAX + 2] QMPI_HIDDEN;

/*
 * Some of these rows, indexed by the number of layers below, at fixed addresses that the generated
 * functions know, so that they do not need the tool_id. Layer 1 has no such row.
 */
enum { QMPI_CHAIN_FAST = 2 };
extern QMPI_Context qmpi_chain_fast[QMPI_CHAIN_FAST][QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * [tool_id][number]: the next node below layer `tool_id`; for 0, the first node of the chain. There
 * are rows for all tool_ids less than qmpi_chain_height, which is 0 before start-up; the row of a
 * layer contains NULL until the layer is initialized.
 */
extern unsigned qmpi_chain_height QMPI_HIDDEN;
extern const QMPI_Context *qmpi_chain_nexts[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

#endif
