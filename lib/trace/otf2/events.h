/* SPDX-License-Identifier: MIT */
/*
 * The events of a process of an archive: one file for each thread, whose numbers are those of the
 * process. Times are nanoseconds on the common clock, from the first event of the trace on.
 */
#ifndef QMPI_TRACE_OTF2_EVENTS_H
#define QMPI_TRACE_OTF2_EVENTS_H

#include "trace/otf2/part.h"
#include "trace/otf2/source.h"

#include <otf2/otf2.h>

/* Writes that nothing was recorded: one event, that recording was off. libotf2 3.0 reads memory
 * that it has not set if a thread has no event. */
OTF2_ErrorCode archive_write_nothing(OTF2_EvtWriter *writer);

/* Writes the events, and fills the part, which is prepared. Returns the first error. */
OTF2_ErrorCode archive_write_events(OTF2_Archive *archive, const struct archive_source *source,
                                    struct archive_part *part);

#endif
