/* SPDX-License-Identifier: MIT */
/*
 * Chains and slots: for each function the nodes of the layers that intercept it, ending in the
 * base; and the pointer that the function's entry jumps through. Built once, from the bottom up, by
 * start.c; afterwards only read.
 */
#ifndef QMPI_CHAIN_H
#define QMPI_CHAIN_H

#include <qmpi/qmpi.h>

#include <stdbool.h>

enum { QMPI_FUNCTION_COUNT = MPI_LAST_FUNC, QMPI_LAYERS_MAX = 255 };

typedef void qmpi_function(void);

/* Read directly, not through the GOT: the pointers below are on the path of an MPI call. */
#define QMPI_HIDDEN __attribute__((visibility("hidden")))

/* The generated ends of a chain; both NULL for a function that this MPI lacks. */
struct qmpi_ends {
    qmpi_function *enter;  /* MPI_X's signature: notes the caller, calls the head's function */
    qmpi_function *base;   /* QMPI_X_t: drops the context, jumps to PMPI_X */
    qmpi_function *hosted; /* QMPI_X_t: drops the context, jumps to the hosted tool's MPI_X */
    qmpi_function *over; /* MPI_X's signature: calls the node that a stub noted in qmpi_position */
};
extern const struct qmpi_ends qmpi_ends[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Where MPI_X and PMPI_X jump to: in entries.S. */
extern qmpi_function *qmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *qmpi_pmpi_slots[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The entries MPI_X themselves, whatever the loader finds under those names. */
extern qmpi_function *const qmpi_entries[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The MPI library's own PMPI functions. */
extern qmpi_function *qmpi_bases[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The node of the topmost layer that intercepts a function, or the base's. */
extern QMPI_Context qmpi_heads[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/*
 * The caller of this thread's present MPI call; NULL outside one. Where the program called a hosted
 * tool on top itself, it is where that tool called on; the program's frame is found by unwinding
 * from there.
 */
extern _Thread_local void *qmpi_caller QMPI_HIDDEN __attribute__((tls_model("initial-exec")));

/* The node that a stub leads to, from the stub to the function that it jumps to; see host/arch.h.
 */
extern _Thread_local QMPI_Context qmpi_position QMPI_HIDDEN
    __attribute__((tls_model("initial-exec")));

/* The node of the uppermost native layer of a function: all above it are hosted. NULL: there is
 * none. */
extern QMPI_Context qmpi_first_natives[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Makes every chain the base alone. `layers` is the height of the stack to come. */
void qmpi_chain_start(int layers);

/* Lets layer `tool_id` find what is below it: all that has been added so far. */
void qmpi_chain_show(int tool_id);

/*
 * Puts a layer on top: functions[number] is its interceptor, or NULL. Those of a hosted layer have
 * MPI's own signatures.
 */
void qmpi_chain_add(int tool_id, qmpi_function *const *functions, bool hosted);

/* Where MPI_X leads in the chains as they are now. */
qmpi_function *qmpi_chain_way(int number);

/* Whether they are open. */
bool qmpi_chain_is_open(void);

/* Opens the slots: from here on calls go straight. */
void qmpi_chain_publish(void);

#endif
