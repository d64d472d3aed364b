/* SPDX-License-Identifier: MIT */
/* See clock_line.h. */
#include "tools/trace/file/clock_line.h"

#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

/* The maximum difference between the rates of two clocks, and the maximum change of a rate during a
 * run, as in libqmpi (src/clock). */
#define RATES_DIFFER 500e-6
#define RATE_CHANGES 1e-6

/* Adds two times. If the sum is out of range, returns INT64_MAX or -INT64_MAX, so that results can
 * be negated. */
static int64_t add_time(int64_t time, int64_t other)
{
    int64_t sum;
    if (__builtin_add_overflow(time, other, &sum))
        return other < 0 ? -INT64_MAX : INT64_MAX;
    return sum < -INT64_MAX ? -INT64_MAX : sum;
}

/* ---- Slopes ---------------------------------------------------------------------------------- */

/* Sets the slope to rise / run, with as many bits as possible. */
static void set_slope(struct trace_clock_segment *segment, uint64_t rise, uint64_t run)
{
    segment->shift = 0;
    wide scaled = rise;
    while (segment->shift < 126 && !(scaled >> 126) && (scaled << 1) / run <= UINT64_MAX >> 1) {
        scaled <<= 1;
        segment->shift++;
    }
    scaled /= run;
    segment->slope = scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Returns the length of a tick in nanoseconds, or 1 if that in the file is not plausible. */
static double tick_of(const struct trace_process *process)
{
    return process->tick > 0 && process->tick < 1e9 ? process->tick : 1;
}

static void set_tick(struct trace_clock_segment *segment, double tick)
{
    int exponent;
    const double fraction = frexp(tick, &exponent); /* tick = fraction * 2^exponent */
    segment->slope = (uint64_t)ldexp(fraction, 62);
    segment->shift = 62 - exponent;
    if (segment->shift > 126) { /* shorter than the tick of any clock */
        segment->slope = 0;
        segment->shift = 0;
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int compare_points(const void *a, const void *b)
{
    const struct trace_clock_point *one = a, *other = b;
    return one->ticks < other->ticks ? -1 : one->ticks > other->ticks;
}

/* Sorts points, and removes those at which the time would stand still or go back. Returns the
 * number of remaining points. */
static size_t sort_points(struct trace_clock_point *points, size_t count)
{
    size_t left = 0;
    if (count)
        qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 0; i < count; i++)
        if (!left ||
            (points[i].ticks > points[left - 1].ticks && points[i].world > points[left - 1].world))
            points[left++] = points[i];
    return left;
}

bool trace_clock_line_make(struct trace_clock_line *line, const struct trace_process *process)
{
    size_t count = process->point_count;
    struct trace_clock_point *points = malloc((count + 1) * sizeof *points);
    *line = (struct trace_clock_line){.segments = calloc(count + 1, sizeof *line->segments)};
    if (!points || !line->segments) {
        free(points);
        trace_clock_line_free(line);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        points[i] = process->points[i];
    if (!count)
        points[count++] = (struct trace_clock_point){process->start_ticks, process->started, 0};
    count = sort_points(points, count);
    line->count = count > 1 ? count - 1 : 1;
    for (size_t i = 0; i < line->count; i++) {
        struct trace_clock_segment *segment = &line->segments[i];
        segment->ticks = points[i].ticks;
        segment->world = points[i].world;
        if (count == 1)
            set_tick(segment, tick_of(process));
        else
            set_slope(segment, (uint64_t)points[i + 1].world - (uint64_t)points[i].world,
                      points[i + 1].ticks - points[i].ticks);
    }
    free(points);
    return true;
}

void trace_clock_line_free(struct trace_clock_line *line)
{
    free(line->segments);
    *line = (struct trace_clock_line){0};
}

void trace_clock_line_move(struct trace_clock_line *line, int64_t nanoseconds)
{
    line->moved = add_time(line->moved, nanoseconds);
}

int64_t trace_clock_line_time(const struct trace_clock_line *line, uint64_t ticks)
{
    const struct trace_clock_segment *segment = line->segments;
    for (size_t i = 1; i < line->count && ticks >= segment[1].ticks; i++)
        segment++;
    const bool is_before = ticks < segment->ticks;
    const uint64_t passed = is_before ? segment->ticks - ticks : ticks - segment->ticks;
    wide product = (wide)passed * segment->slope;
    if (segment->shift) /* rounds to the nearest integer; halves are rounded up */
        product += ((wide)1 << (segment->shift - 1)) - is_before;
    product >>= segment->shift;
    const int64_t nanoseconds = product > INT64_MAX ? INT64_MAX : (int64_t)product;
    return add_time(add_time(segment->world, is_before ? -nanoseconds : nanoseconds), line->moved);
}

bool trace_clock_line_find(const struct trace_clock_line *line, int64_t time, uint64_t *ticks)
{
    uint64_t low = 0, high = UINT64_MAX;
    if (trace_clock_line_time(line, high) < time)
        return false;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (trace_clock_line_time(line, middle) < time)
            low = middle + 1;
        else
            high = middle;
    }
    *ticks = low;
    return true;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

static double ticks_between(uint64_t ticks, uint64_t other)
{
    return ticks > other ? (double)(ticks - other) : -(double)(other - ticks);
}

uint64_t trace_clock_bound(const struct trace_process *process, uint64_t ticks)
{
    const struct trace_clock_point *points = process->points;
    const size_t count = process->point_count;
    double bound;
    if (!count)
        return 0;
    const struct trace_clock_point *first = points, *second = points + 1;
    while (second + 1 < points + count && ticks > second->ticks) {
        first++;
        second++;
    }
    const double before = ticks_between(ticks, first->ticks);
    if (count == 1 || second->ticks <= first->ticks) {
        bound = (double)first->bound;
        if (first->bound)
            bound += fabs(before) * tick_of(process) * RATES_DIFFER;
    } else {
        const double after = ticks_between(second->ticks, ticks), part = before / (before + after);
        bound = fabs(1 - part) * (double)first->bound + fabs(part) * (double)second->bound;
        if (bound > 0)
            bound += fmin(fabs(before), fabs(after)) * tick_of(process) * RATE_CHANGES;
    }
    return bound < 9e18 ? (uint64_t)ceil(bound) : UINT64_MAX;
}
