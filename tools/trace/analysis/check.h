/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a trace is consistent. Calls must be nested, and times must not decrease. Each
 * message that was sent must be received, in the order of its channel, not before it was sent, and
 * with at most the number of bytes that were sent. All members must take part in a collective with
 * the same function, and no member may leave it before the members whose data it needs have entered
 * it. When times of two processes are compared, they may differ by the bound of the trace.
 */
#ifndef QMPI_TRACE_ANALYSIS_CHECK_H
#define QMPI_TRACE_ANALYSIS_CHECK_H

#include "tools/trace/analysis/view.h"

/* The earliest difference. */
struct trace_check_difference {
    int64_t time;
    uint32_t process;
    uint32_t function; /* TRACE_NONE if it is not in a call */
    char *text;
};

struct trace_check {
    uint64_t events, messages, collectives; /* numbers of what was compared */
    uint64_t differences;
    struct trace_check_difference first; /* the earliest difference, if there are any */
    /* These are numbers of processes whose messages and collectives were not compared. */
    uint64_t partial;     /* in the whole run, because they recorded only parts or ended before
                             MPI_Finalize */
    uint64_t interrupted; /* from some time on, because data is missing there */
    uint64_t selective;   /* only messages, because of the option functions= of the tool */
};

/* Checks a view. Returns false if memory is exhausted or a file cannot be read. The result must be
 * freed in any case. */
bool trace_check_run(struct trace_check *check, const struct trace_view *view);
void trace_check_free(struct trace_check *check);

#endif
