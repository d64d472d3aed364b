/* SPDX-License-Identifier: MIT */
/*
 * Contexts that layers pass to what is below them. A wrong one is reported, and the call continues
 * with the right one, so that the program does not crash and further faults are found.
 */
#ifndef VALIDATOR_CONTEXT_H
#define VALIDATOR_CONTEXT_H

#include "validate/validate.h"

/* Prepares the checks. */
void context_start(const struct qmpi_validate_host *host);

/* Returns the context with which `number`, a function, may be observed: `context`, if it is one
 * that layers have; else the right one, or this ends the process if it is not known whose call it
 * is. `context` may be any value. */
QMPI_Context context_check(QMPI_Context context, int number);

/* Returns the context with which a layer should call a function; NULL: this MPI lacks it. */
QMPI_Context context_right(int tool_id, int number);

/* [number]: what observes a function. */
extern qmpi_function *const *context_observing;

/* [number]: what layers call: checks the context and calls what observes the function. Generated.
 */
extern qmpi_function *const context_checked[QMPI_FUNCTION_COUNT];

#endif
