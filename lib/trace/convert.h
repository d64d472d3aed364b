/* SPDX-License-Identifier: MIT */
/* Writes a trace as a file in another format, for processes that do so themselves: makes no MPI
 * calls, and does not end the process if memory is exhausted. */
#ifndef QMPI_TRACE_CONVERT_H
#define QMPI_TRACE_CONVERT_H

#include "trace/export.h"

enum trace_convert_to { TRACE_TO_PERFETTO, TRACE_TO_JSON, TRACE_TO_CSV };

/*
 * Reads `source`, the directory of a trace or the file of one process, and writes `target`, which
 * appears complete or not at all. The file of one process contains its ends of messages whose other
 * ends are in the files of others: a viewer that opens these together connects them. `describe`
 * may be NULL. Returns false on failure, and sets *problem to a message with a hint, which the
 * caller frees (NULL: memory is exhausted).
 */
bool trace_convert(const char *source, const char *target, enum trace_convert_to format,
                   trace_describe *describe, void *describe_data, char **problem);

/* The same of a trace that is open. */
bool trace_convert_opened(const struct trace *trace, const char *target,
                          enum trace_convert_to format, trace_describe *describe,
                          void *describe_data, char **problem);

#endif
