/* SPDX-License-Identifier: MIT */
/*
 * Writes the events of a process to an archive, in one file for each thread. The events refer to
 * objects by the numbers of the process. Times are in nanoseconds on the common clock, from the
 * first event of the trace on.
 */
#ifndef QMPI_TRACE_OTF2_EVENTS_H
#define QMPI_TRACE_OTF2_EVENTS_H

#include "tools/trace/analysis/cuts.h"
#include "tools/trace/otf2/part.h"

#include <otf2/otf2.h>

/* The events that are written. */
struct trace_events_source {
    const struct trace *trace;
    uint32_t process;                               /* index of the process in the trace */
    const struct trace_cursor_selection *selection; /* NULL for all events */
    int64_t begin;                 /* the time of the trace that becomes time 0 of the archive */
    const char *directory;         /* directory of the archive */
    const struct trace_view *view; /* a view of the same selection, or NULL if none is needed */
    /* Messages and collectives that are only partly in a window of time. They are left out, because
     * readers of archives would count them. NULL if all are written. */
    const struct trace_cuts *cuts;
};

/* For a thread for which nothing was recorded: writes a single event, which states that recording
 * was off. libotf2 3.0 reads uninitialized memory if a thread has no event. */
OTF2_ErrorCode trace_events_write_none(OTF2_EvtWriter *writer);

/* Writes the events, and fills in the arrays of the part, which trace_part_prepare has made.
 * Returns the first error. */
OTF2_ErrorCode trace_events_write(OTF2_Archive *archive, const struct trace_events_source *source,
                                  struct trace_part *part);

#endif
