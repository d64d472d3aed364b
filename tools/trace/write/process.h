/* SPDX-License-Identifier: MIT */
/* What the file tells of the process. */
#ifndef QMPI_TOOL_TRACE_WRITE_PROCESS_H
#define QMPI_TOOL_TRACE_WRITE_PROCESS_H

#include "trace/trace.h"

struct layer;

/* What is known at the beginning. process_clear frees it. */
void process_describe(const struct layer *layer, struct trace_process *process);
void process_clear(struct trace_process *process);

/* What is known from MPI_Init on: of a process that ends without telling its end, all there is. */
void process_put_world(const struct layer *layer, struct trace_bytes *records, const char *mpi);

/* The relation of the clock to that of rank 0. Returns the number of points. */
enum { PROCESS_POINTS = 2 };
size_t process_points(const struct layer *layer, struct trace_clock_point points[PROCESS_POINTS]);

/* The first line of the version of the MPI library, which the caller frees. */
char *process_mpi(void);

/* The length of a tick, nanoseconds. */
double process_tick(void);

#endif
