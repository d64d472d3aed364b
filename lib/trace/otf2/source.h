/* SPDX-License-Identifier: MIT */
/* The events that are written to an archive. */
#ifndef QMPI_TRACE_OTF2_SOURCE_H
#define QMPI_TRACE_OTF2_SOURCE_H

#include "trace/reader.h"

struct archive_source {
    const struct trace *trace;
    uint32_t process;                        /* index in the trace */
    const struct trace_selection *selection; /* NULL: all */
    int64_t begin;         /* of the archive, as time of the trace: what its times count from */
    const char *directory; /* of the archive */
};

#endif
