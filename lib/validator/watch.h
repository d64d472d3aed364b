/* SPDX-License-Identifier: MIT */
/*
 * Watches functions such as printf, malloc and pthread_create: the references of a tool's library
 * to them are redirected to functions of this library. This happens after the tool was loaded, and
 * before its init function runs.
 */
#ifndef VALIDATOR_WATCH_H
#define VALIDATOR_WATCH_H

#include "validate/validate.h"

typedef void watch_function(void);

/* The name of a function, and the function that is called in its place. */
struct watch_entry {
    const char *name;
    watch_function *watched;
};

/* Prepares this file. Must be called before the other functions. */
void watch_start(const struct qmpi_validate_host *host);

/* Adds functions to be watched, also in PMPI tools if `in_pmpi` is true. Must be called before
 * watch_layer. `entries` must remain valid. */
void watch_add(const struct watch_entry *entries, size_t count, bool in_pmpi);

/* Redirects the references of a layer's library, which must have been loaded. */
void watch_layer(int tool_id);

/* Returns whether an address is in the library of a layer. Always false if the tool is part of the
 * program. */
bool watch_contains(int tool_id, const void *address);

/* Returns the layer whose code calls a watched function from `address`, or 0 if there is none. If
 * several layers have this code, returns the first of these that has it: the layer of the innermost
 * visit in this thread, the layer that was loaded last (its init function may be running), and the
 * lowest layer. */
int watch_find_layer(const void *address);

/* Returns whether the code of a layer may run outside its calls, because its library calls
 * functions for threads, signals, timers or services. */
bool watch_runs_outside_calls(int tool_id);

/* The address from which a watched function was called, for watch_find_layer. */
#define WATCH_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#endif
