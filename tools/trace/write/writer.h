/* SPDX-License-Identifier: MIT */
/*
 * The writer is a thread that takes the chunks that other threads have handed over, translates them
 * to events, and writes the events to the file of the process. It makes no MPI call and blocks all
 * signals. Unless buffer=ring is set, it also reads, once per second, the chunks that are not full,
 * so that nearly all events of a process that is killed are in the file.
 */
#ifndef QMPI_TOOL_TRACE_WRITE_WRITER_H
#define QMPI_TOOL_TRACE_WRITE_WRITER_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/name.h"

#include <stdbool.h>

struct layer;

/* Initializes the writer of a layer. The tool's `init` calls this function. */
void writer_make(struct layer *layer);

/* Creates or replaces the file, and starts the thread. On failure, prints a message and returns
 * false. */
bool writer_start(struct layer *layer, const char *path);

/* Lets the thread write everything that has been recorded and the end of the file, and waits for
 * this for at most `seconds` seconds. `end` and `detail` say how the process ends: see struct
 * trace_process. Signal handlers may call this function. Returns false if the file is incomplete or
 * does not exist. */
bool writer_finish(struct layer *layer, enum trace_process_end end, const char *detail,
                   int seconds);

/* Closes the descriptors that the writer has reserved for the files that are written when MPI is
 * finalized. The thread that finalizes MPI calls this function. */
void writer_release_descriptors(struct layer *layer);

#endif
