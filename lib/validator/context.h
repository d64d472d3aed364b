/* SPDX-License-Identifier: MIT */
/*
 * Checks the contexts that layers pass to the next function. A wrong context is reported, and the
 * call continues with the right one, so that the program does not crash and further faults are
 * found.
 */
#ifndef VALIDATOR_CONTEXT_H
#define VALIDATOR_CONTEXT_H

#include "validate/validate.h"

/* Prepares the checks. */
void context_start(const struct qmpi_validate_host *host);

/* Returns the context with which the function `number` is observed. This is `context` if it is a
 * node below a layer (QMPI_CHECK_BELOW), or a layer's own node (QMPI_CHECK_OWN). The observer then
 * reports it if it belongs to another layer or function, or is the layer's own one. Any other
 * `context` is reported here, and the right one is returned; if the layer that makes the call or
 * the right context is unknown, the process ends. `context` may be any value. */
QMPI_Context context_check(QMPI_Context context, int number);

/* Returns the context with which a layer should call the next function, or NULL if this MPI lacks
 * the function. */
QMPI_Context context_right(int tool_id, int number);

/* [number]: the function that observes a call and continues it. */
extern qmpi_function *const *context_observing;

/* [number]: the function that layers call. It checks the context and calls the one in
 * context_observing. Generated. */
extern qmpi_function *const context_checked[QMPI_FUNCTION_COUNT];

#endif
