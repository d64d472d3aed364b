/* SPDX-License-Identifier: MIT */
/*
 * Makes a profile from a trace: calls, bytes, times, pairs of ranks, call sites if they were
 * recorded, communicators, files and regions. If the trace is complete, these are equal to those of
 * the tool `profile` in the same run, except that a trace contains neither the communicators of
 * some calls, such as MPI_Comm_set_name, nor whether a thread slept between two polling calls.
 */
#ifndef QMPI_TRACE_PROFILE_H
#define QMPI_TRACE_PROFILE_H

#include "tools/trace/file/reader.h"

struct profile_result;

/* With `with_path`, also finds the critical path, which requires two more readings of the trace.
 * The caller frees the result with profile_result_free. On failure, returns NULL and sets *problem
 * to a message with a hint, which the caller frees. */
struct profile_result *trace_profile_make(const struct trace *trace, bool with_path,
                                          char **problem);

/* Returns a line that says why the critical path of a trace may be shorter than the critical path
 * of the run. The caller frees it. Returns NULL if there is no reason, or memory is exhausted. */
char *trace_profile_explain_path(const struct trace *trace);

#endif
