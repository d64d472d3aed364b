/* SPDX-License-Identifier: MIT */
/*
 * The end of a process: MPI_Finalize, MPI_Abort, exit, and the signals that end it and can be
 * caught. The writer completes the file; whoever ends the process waits for it.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_TERMINATION_H
#define QMPI_TOOL_TRACE_SAVE_TERMINATION_H

#include "trace/trace.h"

struct layer;

/* Begins to watch signals; again: does nothing. In the thread that begins MPI. */
void termination_watch(void);

/* Completes the file of a layer, of a process that ends without MPI_Finalize. */
void termination_end(struct layer *layer, enum trace_end end, const char *detail);

#endif
