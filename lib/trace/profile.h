/* SPDX-License-Identifier: MIT */
/*
 * A profile of a trace, as the tool `profile` would have made it in the same run: calls, bytes,
 * times, pairs of ranks, call sites if they were recorded, communicators, files and regions.
 */
#ifndef QMPI_TRACE_PROFILE_H
#define QMPI_TRACE_PROFILE_H

#include "trace/reader.h"

struct profile_result;

/* The caller frees the result with profile_result_free. On failure, returns NULL and sets *problem
 * to a message with a hint, which the caller frees. */
struct profile_result *trace_make_profile(const struct trace *trace, char **problem);

#endif
