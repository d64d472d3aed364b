/* SPDX-License-Identifier: MIT */
/*
 * Ends without MPI_Finalize: MPI_Abort, exit, and the signals that end a process and can be caught.
 * The calls that are under way are printed, and how the process ends. Nothing but lines that are
 * there already is written then, so that all of it is safe in a signal handler.
 */
#ifndef QMPI_TOOL_LOG_TERMINATION_H
#define QMPI_TOOL_LOG_TERMINATION_H

#include "frames.h"
#include "layer.h"

/* Begins to watch for signals; again: for those that have become watchable. */
void termination_watch(void);

/* Ends it, when MPI has ended for every layer. */
void termination_unwatch(void);

/* The process ends: says so, once for each layer. `except`: a call that has its line; or NULL. */
void termination_print(const char *termination, const struct frame *except, bool may_print);

#endif
