/* SPDX-License-Identifier: MIT */
/* What the file tells of the process. */
#ifndef QMPI_TOOL_TRACE_WRITE_PROCESS_H
#define QMPI_TOOL_TRACE_WRITE_PROCESS_H

#include "trace/trace.h"

struct layer;

/* What is known at the beginning. process_clear frees it. */
void process_describe(const struct layer *layer, struct trace_process *process);
void process_clear(struct trace_process *process);

/* The relation of the clock to that of rank 0. Returns the number of points. */
enum { PROCESS_POINTS = 2 };
size_t process_points(const struct layer *layer, struct trace_clock_point points[PROCESS_POINTS]);

/* The length of a tick, nanoseconds. */
double process_tick(void);

#endif
