/* SPDX-License-Identifier: MIT */
/*
 * The thread that writes: it takes the chunks that threads have handed over, translates what is in
 * them, and writes it to the file of the process. It makes no MPI call, and takes no signal. What
 * is in chunks that are not full is written after a second, so that a process that is killed leaves
 * nearly everything.
 */
#ifndef QMPI_TOOL_TRACE_WRITE_WRITER_H
#define QMPI_TOOL_TRACE_WRITE_WRITER_H

#include "trace/trace.h"

#include <stdbool.h>

struct layer;

/* In `init`. */
void writer_make(struct layer *layer);

/* Begins to write to a file, which it creates or replaces. False: it cannot, and has said why. */
bool writer_start(struct layer *layer, const char *path);

/* Writes all that has been recorded, and the end of the file; waits for that, at most for some
 * `seconds`. Also in a signal handler. False: it is not complete, or nothing has been written. */
bool writer_finish(struct layer *layer, enum trace_end end, const char *detail, int seconds);

#endif
