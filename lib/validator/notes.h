/* SPDX-License-Identifier: MIT */
/*
 * Notes are messages about layers that break no rule. They do not change the exit status.
 */
#ifndef VALIDATOR_NOTES_H
#define VALIDATOR_NOTES_H

#include "validate/validate.h"

#include <stdint.h>

/* Prepares this file. Must be called before the other functions. */
void notes_start(const struct qmpi_validate_host *host);

/* Prints, for each layer, functions that it intercepts without intercepting their variants, such as
 * MPI_Isend, but not MPI_Isend_c. Called once, when all layers are complete. */
void notes_print_variants(void);

/* Returns the time of a monotonic clock in nanoseconds. */
uint64_t notes_time(void);

/* Adds time in nanoseconds that a layer has spent in a call of a function. If `ends` is true, the
 * call ends, and is counted. May be called by any thread. */
void notes_add_time(int tool_id, const QMPIX_Function *function, uint64_t time, bool ends);

/* Adds bytes that a layer has allocated in a call of a function. The number is negative if they
 * were freed. `function` is NULL outside calls. May be called by any thread. */
void notes_add_memory(int tool_id, const QMPIX_Function *function, long long bytes);

/* Prints the functions in which each layer has added most time and memory. Called at the end. */
void notes_print_costs(void);

#endif
