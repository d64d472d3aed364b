/* SPDX-License-Identifier: MIT */
/*
 * The world time of a process as a function of its ticks: lines through two neighbouring clock
 * points each; the first and the last go on before and after. With one point, the length of a tick
 * is the slope; without any, the line begins at `started`. It never decreases. Times are
 * exact to a nanosecond for any duration, and cost a multiplication.
 */
#ifndef QMPI_TRACE_CLOCK_LINE_H
#define QMPI_TRACE_CLOCK_LINE_H

#include "trace/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* world = `world` + (ticks - `ticks`) * `slope` / 2^`shift` */
struct trace_clock_segment {
    uint64_t ticks;
    int64_t world;
    uint64_t slope;
    int shift;
};

struct trace_clock_line {
    struct trace_clock_segment *segments; /* in order; the first is for earlier ticks, too */
    size_t count;
    int64_t moved; /* added to all times */
};

/* Makes the line of a process. Returns false if memory is exhausted. */
bool trace_clock_line_make(struct trace_clock_line *line, const struct trace_process *process);
void trace_clock_line_free(struct trace_clock_line *line);

/* Moves all times. */
void trace_clock_line_move(struct trace_clock_line *line, int64_t nanoseconds);

int64_t trace_clock_line_time(const struct trace_clock_line *line, uint64_t ticks);

/* By which the world time at `ticks` may be wrong, if there are clock points. */
uint64_t trace_clock_bound(const struct trace_process *process, uint64_t ticks);

/* The earliest ticks at which it is `time` or later; false: there are none. */
bool trace_clock_line_find(const struct trace_clock_line *line, int64_t time, uint64_t *ticks);

#endif
