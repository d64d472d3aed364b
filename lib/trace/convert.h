/* SPDX-License-Identifier: MIT */
/* Writes a trace as a file in another format, for processes that do so themselves: makes no MPI
 * calls, and does not end the process if memory is exhausted. */
#ifndef QMPI_TRACE_CONVERT_H
#define QMPI_TRACE_CONVERT_H

#include "trace/export.h"

enum trace_convert_to { TRACE_TO_PERFETTO, TRACE_TO_JSON, TRACE_TO_CSV };

/* Writes `target`, which appears complete or not at all. Returns false on failure, and sets
 * *problem to a message with a hint, which the caller frees (NULL: memory is exhausted). */
bool trace_convert(const struct trace_export *export, const char *target,
                   enum trace_convert_to format, char **problem);

#endif
