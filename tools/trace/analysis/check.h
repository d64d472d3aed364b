/* SPDX-License-Identifier: MIT */
/*
 * Whether a trace is consistent: calls are nested and times do not go back; each message that is
 * sent is received, with no more bytes than were sent, in the order of its channel, and not before
 * it was sent; all members take part in a collective, in the same function, and none leaves it
 * before those for whose data it waits have entered. Times of two processes are compared up to the
 * bound of the trace.
 */
#ifndef QMPI_TRACE_ANALYSIS_CHECK_H
#define QMPI_TRACE_ANALYSIS_CHECK_H

#include "tools/trace/analysis/view.h"

/* The first difference, in order of time. */
struct trace_check_difference {
    int64_t time;
    uint32_t process;
    uint32_t function; /* TRACE_NONE: it is not in a call */
    char *text;
};

struct trace_check {
    uint64_t events, messages, collectives; /* what was compared */
    uint64_t differences;
    struct trace_check_difference first; /* if there are any */
    /* Processes whose messages and collectives are not compared: */
    uint64_t partial;     /* at all: they recorded only parts, or ended before MPI_Finalize */
    uint64_t interrupted; /* from a moment on, because something is missing there */
    uint64_t selective;   /* messages only: by the option functions= of the tool */
};

/* Returns false if memory is exhausted; free it in any case. */
bool trace_check_run(struct trace_check *check, const struct trace_view *view);
void trace_check_free(struct trace_check *check);

#endif
