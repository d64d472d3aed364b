/* SPDX-License-Identifier: MIT */
/* A timeline of a trace: what each thread did in each interval of time. */
#ifndef QMPI_CLI_TRACE_TIMELINE_H
#define QMPI_CLI_TRACE_TIMELINE_H

#include "trace/trace.h"

#define OUTSIDE UINT16_MAX       /* of MPI */
#define NOTHING (UINT16_MAX - 1) /* the process had not begun, or had ended */

struct function {
    const char *name, *group;
    double time;
    char letter;
};

struct line {
    char *label;
    uint16_t *functions; /* by column */
};

struct timeline {
    const struct trace_view *view;
    int width, columns;
    int64_t begin, end;
    struct function *functions;
    int function_count;
    struct line *lines;
    int line_count;
    double *shares; /* by column: seconds in MPI, of all lines; total: of all lines */
    double *totals;
};

/* The begin of a column. */
int64_t timeline_column(const struct timeline *timeline, int column);

/* Adds the lines of a process. Returns false if memory is exhausted. */
bool timeline_paint(struct timeline *timeline, uint32_t index);

#endif
