/* SPDX-License-Identifier: MIT */
/* A trace that is open: what readers see, and what is needed to read its events. */
#ifndef QMPI_TRACE_OPENED_H
#define QMPI_TRACE_OPENED_H

#include "trace/clock_line.h"
#include "trace/reader.h"
#include "trace/source.h"

struct trace_opened {
    struct trace trace;             /* the first member: struct trace * points to it, too */
    struct trace_source *sources;   /* by process */
    struct trace_clock_line *lines; /* by process: time since `base` of the trace */
    size_t room;
};

#endif
