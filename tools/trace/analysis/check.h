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

/* A difference: a place where the trace does not obey one of these rules. */
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
    /* These are numbers of processes of which not everything was compared. */
    uint64_t partial; /* no messages or collectives were compared, because the beginning is missing,
                         MPI_Finalize was not completed, or events were lost at an unknown time */
    uint64_t interrupted; /* messages and collectives were compared only up to the time from which
                             data is missing */
    uint64_t selective;   /* collectives were compared, but no messages, because of the option
                             functions= of the tool */
};

/* Checks a view. Returns false if memory is exhausted or a file cannot be read. The result must be
 * freed in any case. */
bool trace_check_run(struct trace_check *check, const struct trace_view *view);
void trace_check_free(struct trace_check *check);

#endif
