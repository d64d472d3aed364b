/* SPDX-License-Identifier: MIT */
/*
 * Notes: what validation tells about layers that break no rule. They do not change the exit status.
 */
#ifndef VALIDATOR_NOTES_H
#define VALIDATOR_NOTES_H

#include "validate/validate.h"

#include <stdint.h>

/* Prepares the notes. */
void notes_start(const struct qmpi_validate_host *host);

/* Prints which variants of functions that a layer intercepts it does not intercept: MPI_Isend, but
 * not MPI_Isend_c. Called once, when all layers are complete. */
void notes_print_variants(void);

/* Returns the time, in nanoseconds. */
uint64_t notes_time(void);

/* Adds time that a layer has spent in a call of a function. `ends`: the call ends. Any thread. */
void notes_add_time(int tool_id, const QMPIX_Function *function, uint64_t time, bool ends);

/* Adds bytes that a layer has allocated in a call of a function, or freed; NULL: in no call. Any
 * thread. */
void notes_add_memory(int tool_id, const QMPIX_Function *function, long long bytes);

/* Prints the functions in which each layer has added most time and most memory. Called at the end.
 */
void notes_print_costs(void);

#endif
