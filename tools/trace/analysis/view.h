/* SPDX-License-Identifier: MIT */
/*
 * A view of a trace consists of selected processes in a window of time. It adds the numbers of
 * messages and, optionally, corrects the times.
 */
#ifndef QMPI_TRACE_ANALYSIS_VIEW_H
#define QMPI_TRACE_ANALYSIS_VIEW_H

#include "tools/trace/analysis/corrections.h"
#include "tools/trace/analysis/messages.h"
#include "tools/trace/file/cursor.h"
#include "util/util.h"

/* An element of `sizes`. */
struct trace_view_size {
    uint64_t bytes;
    bool is_known;
};

struct trace_view {
    const struct trace *trace;
    struct trace_cursor_selection selection;
    struct trace_messages **messages; /* by process; NULL if the process is not selected */
    /* The sizes of messages whose receives lack them (see trace_messages_lack_size), by number
     * of the message; NULL if there are none. */
    struct qmpi_table *sizes;
    const struct trace_corrections *corrections; /* NULL if times are not corrected */
};

/* Opens a view and prepares the numbers of messages. `selection` may be NULL; it is copied, but its
 * array `processes` must stay valid. Returns false if memory is exhausted or a file cannot be read.
 * The view must be closed in any case. */
bool trace_view_open(struct trace_view *view, const struct trace *trace,
                     const struct trace_cursor_selection *selection);
void trace_view_close(struct trace_view *view);

bool trace_view_has(const struct trace_view *view, uint32_t process);

/* These functions return the times of the begin and the end of the view. */
int64_t trace_view_begin(const struct trace_view *view);
int64_t trace_view_end(const struct trace_view *view);

/* Returns the time at which a process ends in the view. Calls without an end last until then. */
int64_t trace_view_end_of(const struct trace_view *view, uint32_t process);

/*
 * Reads the events of one process in order of time. A call or region that is in progress at the
 * begin of the view begins there, and one that is in progress at the end of the view ends there if
 * the process has later events; otherwise, it has no end (see trace_view_end_of). Only one stream
 * of a process may be open at a time. trace_view_stream_make returns NULL if memory is exhausted
 * or the process is not in the view.
 */
struct trace_view_stream;
struct trace_view_stream *trace_view_stream_make(const struct trace_view *view, uint32_t process);
void trace_view_stream_free(struct trace_view_stream *stream);

/* Sets `event` to the next event, and `message` to the result of trace_messages_next for it.
 * Returns false at the end. */
bool trace_view_stream_next(struct trace_view_stream *stream, struct trace_event *event,
                            uint64_t *message);

/* Returns whether events are missing, because memory was exhausted or a file could not be read. */
bool trace_view_stream_failed(const struct trace_view_stream *stream);

/* Reads the events of all processes in the view in order of time, by one stream of each process. If
 * events have the same time, those of the process with the lower index come first.
 * trace_view_merged_make returns NULL if memory is exhausted. */
struct trace_view_merged;
struct trace_view_merged *trace_view_merged_make(const struct trace_view *view);
bool trace_view_merged_next(struct trace_view_merged *merged, struct trace_event *event,
                            uint32_t *process, uint64_t *message);
bool trace_view_merged_failed(const struct trace_view_merged *merged);
void trace_view_merged_free(struct trace_view_merged *merged);

#endif
