/* SPDX-License-Identifier: MIT */
/*
 * References of a tool's library to functions that are watched, such as printf, malloc and
 * pthread_create, lead to functions of this library. They are redirected when the tool has been
 * loaded, before its init function.
 */
#ifndef VALIDATOR_WATCH_H
#define VALIDATOR_WATCH_H

#include "validate/validate.h"

typedef void watch_function(void);

/* A function and what is called in its place; NULL: it is not watched after all. */
struct watch_entry {
    const char *name;
    watch_function *watched;
};

/* Prepares the following. */
void watch_start(const struct qmpi_validate_host *host);

/* Adds functions to be watched. `in_pmpi`: in PMPI tools, too. Called before the layers concerned.
 */
void watch_add(const struct watch_entry *entries, size_t count, bool in_pmpi);

/* Watches the library of a layer, which has been loaded. */
void watch_layer(int tool_id);

/* Whether an address is in the library of a layer that is not part of the program. */
bool watch_contains(int tool_id, const void *address);

/* Returns the layer that calls a watched function; the caller is at `address`. If its tool is in
 * the stack several times: the one whose call is in progress in this thread, or whose init function
 * is running, or else the lowest one. 0: none. */
int watch_find_layer(const void *address);

/* Whether the library of a layer calls functions by which its code may run at any time: those for
 * threads, signals, timers and services. */
bool watch_acts_alone(int tool_id);

/* The address in the caller of a watched function, for watch_find_layer. */
#define WATCH_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#endif
