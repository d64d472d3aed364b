/* SPDX-License-Identifier: MIT */
/*
 * The events of a process of an archive: one file for each thread. It refers to objects by the
 * numbers of the process. Times are nanoseconds on the common clock, from the first event of the
 * trace on.
 */
#ifndef QMPI_TRACE_OTF2_EVENTS_H
#define QMPI_TRACE_OTF2_EVENTS_H

#include "tools/trace/analysis/pairs.h"
#include "tools/trace/otf2/part.h"

#include <otf2/otf2.h>

/* The events that are written. */
struct trace_events_source {
    const struct trace *trace;
    uint32_t process;                               /* index in the trace */
    const struct trace_cursor_selection *selection; /* NULL: all */
    int64_t begin;                 /* time of the trace at which the times of the archive begin */
    const char *directory;         /* of the archive */
    const struct trace_view *view; /* of the same selection; NULL: not needed */
    /* Pairs of a window of time. Messages and collectives known to be only partly in it are left
     * out, because readers of archives would count them. NULL: all are written. */
    const struct trace_pairs *pairs;
};

/* Writes that nothing was recorded: one event, that recording was off. libotf2 3.0 reads memory
 * that it has not set if a thread has no event. */
OTF2_ErrorCode trace_events_write_none(OTF2_EvtWriter *writer);

/* Writes the events, and fills the part, which is prepared. Returns the first error. */
OTF2_ErrorCode trace_events_write(OTF2_Archive *archive, const struct trace_events_source *source,
                                  struct trace_part *part);

#endif
