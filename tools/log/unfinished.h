/* SPDX-License-Identifier: MIT */
/*
 * Calls that do not return are reported in two cases. The option stuck=TIME starts a thread that
 * searches for calls that last longer than TIME; this thread makes no MPI call. When a process ends
 * without MPI_Finalize, by MPI_Abort, by exit, or by a signal that ends the process and can be
 * caught, the log prints how it ends, and its calls in progress. Only text that already exists is
 * used then, so that this output is safe in a signal handler.
 */
#ifndef QMPI_TOOL_LOG_UNFINISHED_H
#define QMPI_TOOL_LOG_UNFINISHED_H

#include "tools/log/frames.h"
#include "tools/log/layer.h"

/* Starts the thread if the layer has the option. Does nothing if the thread is already running. */
void unfinished_search_start(struct layer *layer);

/* Stops the thread and waits until it has ended. */
void unfinished_search_stop(struct layer *layer);

/* Starts watching for signals. Further calls add the signals that have become watchable since. */
void unfinished_watch_signals(void);

/* Stops watching for signals if MPI has ended for every layer. */
void unfinished_unwatch_signals(void);

/* Reports the end of the process once for each layer. `cause` is how the process ends, such as
 * "signal SIGTERM". `except` is a call that already has its line, or NULL. This function is safe in
 * a signal handler unless `may_print` is true. */
void unfinished_print(const char *cause, const struct frame *except, bool may_print);

#endif
