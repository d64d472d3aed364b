/* SPDX-License-Identifier: MIT */
/*
 * The world time of a process as a function of its ticks. The function consists of lines through
 * neighboring clock points; the first and the last line are extended. With one point, the slope is
 * the length of a tick. Without points, the point (`start_ticks`, `started`) of the process is
 * used. The function never decreases. Times are exact to a nanosecond for any duration. To compute
 * a time takes one multiplication.
 */
#ifndef QMPI_TRACE_FILE_CLOCK_LINE_H
#define QMPI_TRACE_FILE_CLOCK_LINE_H

#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same time on the clock of the process and on the common clock. */
struct trace_clock_point {
    uint64_t ticks;
    int64_t world;  /* world time: nanoseconds on the clock of rank 0 of MPI_COMM_WORLD */
    uint64_t bound; /* the maximum error of `world` in nanoseconds */
};

/* The world time at the ticks t is `world` + (t - `ticks`) * `slope` / 2^`shift`. */
struct trace_clock_segment {
    uint64_t ticks;
    int64_t world;
    uint64_t slope;
    int shift;
};

struct trace_clock_line {
    struct trace_clock_segment *segments; /* in order; the first one also applies to earlier
                                             ticks */
    size_t count;
    int64_t moved; /* added to all times */
};

/* Makes the line of a process. Returns false if memory is exhausted. */
bool trace_clock_line_make(struct trace_clock_line *line, const struct trace_process *process);
void trace_clock_line_free(struct trace_clock_line *line);

/* Moves all times by a number of nanoseconds. */
void trace_clock_line_move(struct trace_clock_line *line, int64_t nanoseconds);

/* Returns the world time at `ticks`, moved by trace_clock_line_move. */
int64_t trace_clock_line_time(const struct trace_clock_line *line, uint64_t ticks);

/* Returns the maximum error of the world time at `ticks` in nanoseconds, or 0 if there are no clock
 * points. */
uint64_t trace_clock_bound(const struct trace_process *process, uint64_t ticks);

/* Finds the earliest ticks at which the world time is at least `time`. Returns false if there are
 * none. */
bool trace_clock_line_find(const struct trace_clock_line *line, int64_t time, uint64_t *ticks);

/* Sums and differences of times, which may have any value in a damaged file. If the result is out
 * of range, the nearest limit is returned. */
static inline int64_t trace_clock_add(int64_t one, int64_t other)
{
    int64_t sum;
    if (!__builtin_add_overflow(one, other, &sum))
        return sum;
    return one < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t trace_clock_subtract(int64_t one, int64_t other)
{
    int64_t difference;
    if (!__builtin_sub_overflow(one, other, &difference))
        return difference;
    return one < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns a number of nanoseconds or ticks as an integer. In a damaged file, the number may be
 * invalid or too large; the result is then 0 or INT64_MAX. */
static inline int64_t trace_clock_whole(double number)
{
    if (!(number > 0))
        return 0;
    return number < 9e18 ? (int64_t)number : INT64_MAX;
}

#endif
