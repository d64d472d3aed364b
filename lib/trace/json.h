/* SPDX-License-Identifier: MIT */
/*
 * A trace in the JSON format of Chrome's trace viewer, which Perfetto reads, too: for small traces.
 * It contains what slices.h says, under the names that the file for Perfetto has.
 */
#ifndef QMPI_TRACE_JSON_H
#define QMPI_TRACE_JSON_H

#include "trace/export.h"

/* Returns false if memory is exhausted; the caller checks the stream for errors. */
bool trace_write_json(FILE *stream, const struct trace_export *export);

#endif
