/* SPDX-License-Identifier: MIT */
/* Reads the file of a process from its beginning to its end: definitions, and the heads of blocks
 * of events. After what is no block, it goes on with the next one that there is. */
#ifndef QMPI_TRACE_SCAN_H
#define QMPI_TRACE_SCAN_H

#include "trace/definitions.h"
#include "trace/records.h"
#include "trace/source.h"

/* Adds what is in the file, whose size is set, to `source` and to the definitions of `process`. */
void trace_scan(struct trace_source *source, struct trace_process *process,
                struct trace_definitions *definitions, int descriptor);

#endif
