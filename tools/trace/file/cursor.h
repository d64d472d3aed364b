/* SPDX-License-Identifier: MIT */
/* Reads the events of a trace. Only one thread may use a cursor. No MPI calls are made. */
#ifndef QMPI_TRACE_FILE_CURSOR_H
#define QMPI_TRACE_FILE_CURSOR_H

#include "tools/trace/file/event.h"
#include "tools/trace/file/reader.h"

/* A part of a trace. {0} is the whole trace. */
struct trace_cursor_selection {
    /* Indexed by process: whether it is selected; NULL if all are. */
    const unsigned char *processes;
    bool has_begin, has_end;
    int64_t begin, end; /* nanoseconds since `base` of the trace, inclusive */
};

/*
 * Reads the events of one location, of one process in order of time, or of all processes in order
 * of their times on the common clock. TRACE_NONE as `process` or `location` stands for all. Without
 * a selection (NULL), reads the whole trace. Returns NULL if memory is exhausted.
 *
 * The events of each location are properly nested, even if files are damaged. TRACE_LEAVE and
 * TRACE_INTERRUPTED have the function and the site of their TRACE_ENTER. Indices are valid, or
 * TRACE_NONE if a member does not apply or is unknown. Ranks (`peer`, `root`) are not checked: see
 * trace_event_world_rank. TRACE_DROPPED is also returned where events are missing because a part of
 * the file is damaged.
 *
 * A call that began before `begin` or ended after `end` is shortened: its TRACE_ENTER has the time
 * `begin`, or its TRACE_LEAVE the time `end`. Events within the call (messages, …) are included if
 * they are between `begin` and `end`.
 */
struct trace_cursor;
struct trace_cursor *trace_cursor_make(const struct trace *trace, uint32_t process,
                                       uint32_t location,
                                       const struct trace_cursor_selection *selection);

/* Sets `event` to the next event, and `process` (which may be NULL) to the index of its process.
 * Returns false at the end. */
bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event, uint32_t *process);
void trace_cursor_free(struct trace_cursor *cursor);

#endif
