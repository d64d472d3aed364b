/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a trace: the longest chain of work in which each part depends on the
 * previous one. Work is time outside MPI while the program is profiled.
 *
 * Each thread has a logical clock, which only advances during work. When a thread receives a
 * message or ends a collective, its clock is set to the maximum of its own clock and the clocks on
 * which it depends, as if communication took no time. Therefore, a clock is the length of the
 * longest chain of work up to this time.
 */
#ifndef QMPI_TRACE_PROFILE_PATH_H
#define QMPI_TRACE_PROFILE_PATH_H

#include "tools/profile/result/profile.h"
#include "tools/trace/file/reader.h"

struct trace_path;

/* Finds the critical path. Reads the trace twice. Memory grows with the messages and collectives in
 * progress, not with the length of the trace. Returns NULL if memory is exhausted. */
struct trace_path *trace_path_find(const struct trace *trace);
void trace_path_free(struct trace_path *path);

/* Sets the members `path` of a process and of its regions in `result`, which is the result of this
 * process alone. */
void trace_path_fill(const struct trace_path *path, uint32_t process,
                     struct profile_result *result);

#endif
