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

/* Adds a line to the warnings, and frees it. */
void trace_warn(struct trace_opened *opened, char *warning);

/* Of all processes that were found in a directory, leaves those of the newest run, sorted. Files
 * that are not read, and those that are missing, become warnings. */
void trace_choose_processes(struct trace_opened *opened);

#endif
