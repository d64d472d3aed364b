/* SPDX-License-Identifier: MIT */
/*
 * The events of a process of an archive: one file for each thread, whose numbers are those of the
 * process. Times are nanoseconds on the common clock, from the first event of the trace on.
 */
#ifndef QMPI_TRACE_OTF2_EVENTS_H
#define QMPI_TRACE_OTF2_EVENTS_H

#include "trace/otf2/part.h"
#include "trace/reader.h"

#include <otf2/otf2.h>

/* What is written, and where to. */
struct archive_source {
    const struct trace *trace;
    uint32_t process;                        /* index in the trace */
    const struct trace_selection *selection; /* NULL: all */
    int64_t begin; /* of the archive, as time of the trace: what its times count from */
};

/* Writes the events, and fills the part, which is prepared. Returns the first error. */
OTF2_ErrorCode archive_write_events(OTF2_Archive *archive, const struct archive_source *source,
                                    struct archive_part *part);

#endif
