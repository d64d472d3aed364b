/* SPDX-License-Identifier: MIT */
/*
 * Nodes, and the data through which entry points and generated functions reach them: single
 * pointers, and rows of pointers. Start-up stores a pointer to a row after the row is complete.
 * When a layer is switched, the single pointers and the elements of rows are stored, each
 * atomically. A node has two functions, because MPICH's variant (mpich/) has another calling
 * convention than QMPI layers.
 */
#ifndef QMPI_DISPATCH_NODE_H
#define QMPI_DISPATCH_NODE_H

/* Offsets for assembly code, which static assertions check; in struct QMPIX_Node if no other is
 * named. */
#define QMPI_NODE_FUNCTION 0
#define QMPI_NODE_TOOL_ID 16
#define QMPI_NODE_MPICH_FUNCTION 72 /* in struct qmpi_node */
#define QMPI_THREAD_JUMPED_FRAME 8  /* in struct qmpi_dispatch_thread */

#ifndef __ASSEMBLER__

#include "dispatch/arch/frame.h"
#include "functions/functions.h"
#include "generate/mpich_numbers.h"
#include "process/process.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QMPI_LAYERS_MAX = 255 };

/* The functions generated for each MPI function; all NULL if this MPI lacks it. */
struct qmpi_dispatch_functions {
    qmpi_function *trampoline;   /* signature of MPI_X: stores its frame, calls the first
                                    node */
    qmpi_function *terminator;   /* QMPI_X_t: drops the context, jumps to
                                    qmpi_terminator_targets[X] */
    qmpi_function *pmpi_adapter; /* QMPI_X_t: drops the context, jumps to MPI_X of the PMPI tool */
    qmpi_function *thunk_call;   /* signature of MPI_X, with the node in a register: the target of
                                    thunks (pmpi/thunk.h) */
};
extern const struct qmpi_dispatch_functions
    qmpi_dispatch_functions[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The dispatch tables: targets of MPI_X and PMPI_X; in entries.S. Entry points load them with
 * relaxed order, so they are stored only after qmpi_barrier_publish. */
extern qmpi_function *qmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *qmpi_pmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The entry points MPI_X of libqmpi, even if these names are interposed. */
extern qmpi_function *const qmpi_entries[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The functions that terminators call: PMPI_X of the MPI library, or a wrapper of it (see
 * wrap_terminator_targets in startup/startup.c). */
extern qmpi_function *qmpi_terminator_targets[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The targets of PMPI_X after qmpi_chain_start: the functions of the MPI library, or what src/mpit
 * and src/validate have put in their place. */
extern qmpi_function *qmpi_pmpi_targets[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A context that other threads may read while a layer is switched. */
typedef _Atomic(QMPI_Context) qmpi_node_pointer;

/*
 * The first node of the chain of each function. Calls may load it with relaxed order. What they
 * load through the pointer is as new as the pointer, because its address depends on it. Other data,
 * such as those of the tool, are as new as well if they were stored before a call of
 * qmpi_barrier_publish that precedes the store of the pointer.
 */
extern qmpi_node_pointer qmpi_heads[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * A function that is both the trampoline and the function of the first layer. The structure is the
 * beginning of a larger one, with the data that the function needs (qmpi_record_head in
 * observe/record.h). The function finds these data in qmpi_node_trampolines. While a layer is
 * switched, a thread may be about to call the function, so the last structure stays there even if
 * the new first node has none.
 */
struct qmpi_node_trampoline {
    qmpi_function *function;
};
extern _Atomic(const struct qmpi_node_trampoline *)
    qmpi_node_trampolines[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The node of the topmost QMPI layer of a function; all layers above it are PMPI layers. NULL:
 * none. PMPI layers may have saved pointers to another node of this layer, so the tool_id tells
 * whether a node belongs to it. */
extern qmpi_node_pointer qmpi_topmost_qmpi_nodes[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* A node with further data that is not part of the ABI. */
struct qmpi_node {
    struct QMPIX_Node node;  /* must be first, so that a QMPI_Context points to a qmpi_node */
    struct qmpi_node *above; /* one of the nodes whose next node is this one; NULL: none */
    struct qmpi_node *same;  /* another node with the same next node; NULL: last */
    qmpi_function *thunk;    /* for PMPI layers above (pmpi/thunk.c); NULL: none yet */
    const void *observer;    /* the observer of the layer, or of a run of layers with this one on
                                top (observe/observe.c), or one that checks the layer (chain.h);
                                NULL: none */
    const struct qmpi_node_trampoline *trampoline; /* used when this node is the first; NULL: see
                                                      target_of in chain.c */
    qmpi_function *mpich_function; /* with the signature of MPICH's variant: the layer's own
                                      function if the layer is of this variant, otherwise a function
                                      for calls from layers that are; NULL: none */
};

/* Returns the node of a context. */
static inline struct qmpi_node *qmpi_node_of(QMPI_Context context)
{
    return (struct qmpi_node *)(uintptr_t)context;
}

/*
 * Loads a pointer to a node as calls do, with relaxed order: see qmpi_heads. An atomic load may
 * take an instruction more (with GCC 12), for the address. A plain load of a pointer is atomic,
 * too, and the empty assembly code prevents the compiler from loading it twice. ThreadSanitizer
 * knows neither the order that follows from addresses nor qmpi_barrier_publish.
 */
static inline QMPI_Context qmpi_node_load(const QMPI_Context *place)
{
#ifdef __SANITIZE_THREAD__
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#else
    QMPI_Context node = *place;
    __asm__("" : "+r"(node));
    return node;
#endif
}

/* Returns the node to which the pointer at `place` leads. */
static inline const struct qmpi_node *qmpi_node_at(const qmpi_node_pointer *place)
{
    return (const struct qmpi_node *)qmpi_node_load((const QMPI_Context *)place);
}

/*
 * [tool_id][number]: the current node of layer `tool_id`, or the next node below if the layer does
 * not intercept the function. If layers are checked, row `tool_id` contains the nodes below the
 * layer instead. There is a row for each value of a byte, and one more, which is stored but never
 * read: that of the nodes below layer 255. Rows without a layer contain the terminators.
 */
extern const QMPI_Context *qmpi_node_rows[QMPI_LAYERS_MAX + 2] QMPI_HIDDEN;

/* Reads qmpi_node_rows. `tool_id` may be any number that a tool may pass. */
static inline QMPI_Context qmpi_node_of_layer(int tool_id, int number)
{
    return qmpi_node_load(&qmpi_node_rows[(unsigned char)tool_id][number]);
}

/*
 * The rows of the lowest layers, indexed by the number of layers below, at fixed addresses that the
 * generated functions know, so that they do not need the tool_id. They are not used for layer 1,
 * whose row is qmpi_heads, nor if layers are checked.
 */
enum { QMPI_FIXED_ROWS = 2 };
extern QMPI_Context qmpi_fixed_rows[QMPI_FIXED_ROWS][QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Returns the node of the layer with `depth` layers below it. */
static inline QMPI_Context qmpi_node_at_depth(int depth, int number)
{
    return qmpi_node_load(&qmpi_fixed_rows[depth][number]);
}

/*
 * [tool_id][number]: the next node below layer `tool_id`; for 0, the first node of the chain. There
 * are rows for all tool_ids less than qmpi_next_row_count, which is 0 before start-up; the row of a
 * layer contains NULL until the layers below it have been built, and row 0 until
 * qmpi_chain_activate.
 */
extern unsigned qmpi_next_row_count QMPI_HIDDEN;
extern const QMPI_Context *qmpi_next_rows[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

/* The type QMPI_Context of MPICH's mpi.h; <qmpi/qmpi.h> uses this name for a different type. */
struct qmpi_dispatch_mpich_context {
    void **storage_stack;
};

/* Returns the context that a tool of MPICH's variant receives and passes on. MPICH passes NULL. We
 * pass the node, because the register already contains it. A context that a tool passes on is never
 * read, because it may be old or invalid. */
static inline struct qmpi_dispatch_mpich_context qmpi_node_as_mpich_context(QMPI_Context node)
{
    return (struct qmpi_dispatch_mpich_context){(void **)(uintptr_t)node};
}

/* The functions generated for layers of MPICH's variant; all NULL for a function that has no number
 * in this variant, or that this MPI lacks. */
struct qmpi_dispatch_mpich_functions {
    qmpi_function *trampoline; /* signature of MPI_X: if a layer of this variant is on top */
    qmpi_function *into;       /* QMPI_X_t: calls a layer of this variant */
    qmpi_function *through;    /* signature of this variant: calls the node of the given tool_id */
    qmpi_function *terminator; /* signature of this variant: calls PMPI_X */
    qmpi_function *fixed[QMPI_FIXED_ROWS]; /* as through, by a row of qmpi_fixed_rows */
};
extern const struct qmpi_dispatch_mpich_functions
    qmpi_dispatch_mpich_functions[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Maps function numbers of MPICH's variant to those of QMPI. A function that libqmpi does not know
 * is mapped to the number of one that this MPI lacks, for which there are no nodes. */
extern const short qmpi_mpich_numbers[QMPI_MPICH_COUNT + 1] QMPI_HIDDEN;

/*
 * The variables of a thread from which the calling address is found. They are in one struct,
 * because finding the address of each thread-local variable takes instructions. redirect/caller.h
 * shows how they must be read.
 */
struct qmpi_dispatch_thread {
    /*
     * The frame of the generated function (.trampoline or .thunk_call) through which the current
     * MPI call of this thread entered the QMPI layers; NULL: no such call. Its return address is
     * the calling address. If the program called a PMPI layer on top directly, the return address
     * is in the tool of this layer, and the frame of the program is found by unwinding from there.
     * A nested call restores the outer frame when it returns or is left by an exception, but not if
     * it is left by longjmp. Calls of user-level threads need not nest, so this may be the frame of
     * a call on another stack. This member is the first one: code that sets it uses the address of
     * the struct.
     */
    struct qmpi_frame_entry entry;
    /* The value of entry.frame at the last longjmp: a frame that may no longer be in use. */
    const void *jumped_frame;
    /* The stack with which this thread started; set when a frame is examined. `end` is 0 if this
     * stack is not known, or if this thread also runs on other stacks, as it does with user-level
     * threads. */
    struct qmpi_call_stack stack;
};
_Static_assert(offsetof(struct qmpi_dispatch_thread, entry) == 0,
               "see QMPI_FRAME_ENTER and entry.h");
_Static_assert(offsetof(struct qmpi_dispatch_thread, jumped_frame) == QMPI_THREAD_JUMPED_FRAME,
               "see arch/jump_PROCESSOR.S");
extern _Thread_local struct qmpi_dispatch_thread qmpi_dispatch_thread QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));

/*
 * The functions that set qmpi_dispatch_thread.entry to their frame are in a separate code section.
 * If C functions can do this (arch/frame.h), QMPI_ENTER is their first statement; it also restores
 * the outer entry at the end of the scope. The outer entry is kept in the stack frame (`volatile`),
 * not in a register. If C functions cannot do this, entries.S contains the functions; the one for
 * an observer calls a C function with the name QMPI_ENTERED(name).
 */
#ifdef QMPI_FRAME_ENTER
#define QMPI_TRAMPOLINE __attribute__((section("qmpi_trampolines")))
#define QMPI_ENTERED(name) name
#define QMPI_LEAVES_FRAME __attribute__((cleanup(qmpi_dispatch_leave_frame)))
#define QMPI_ENTER()                                                                               \
    QMPI_LEAVES_FRAME volatile struct qmpi_frame_entry qmpi_outer =                                \
        QMPI_FRAME_ENTER(qmpi_dispatch_thread)
static inline void qmpi_dispatch_leave_frame(const volatile struct qmpi_frame_entry *outer)
{
    QMPI_FRAME_LEAVE(qmpi_dispatch_thread, outer);
}
#else
#define QMPI_TRAMPOLINE
#define QMPI_ENTERED(name) name##_entered
#define QMPI_ENTER() (void)0
#endif
extern const char qmpi_trampolines_begin[] __asm__("__start_qmpi_trampolines") QMPI_HIDDEN;
extern const char qmpi_trampolines_end[] __asm__("__stop_qmpi_trampolines") QMPI_HIDDEN;

/* The code section from which thunk_call_X calls the node if it has not set
 * qmpi_dispatch_thread.entry: an outer call is active, and the node's layer is not the topmost QMPI
 * layer. */
extern const char qmpi_thunks_amid_begin[] __asm__("__start_qmpi_thunks_amid") QMPI_HIDDEN;
extern const char qmpi_thunks_amid_end[] __asm__("__stop_qmpi_thunks_amid") QMPI_HIDDEN;

#endif

#endif
