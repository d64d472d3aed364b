/* SPDX-License-Identifier: MIT */
/* See corrections.h. */
#include "tools/trace/analysis/corrections.h"

#include "tools/trace/file/clock_line.h"
#include "util/util.h"

#include <stdlib.h>

enum {
    CONTROL = 100, /* the control factor is 1 - 1 / CONTROL */
    STRETCH = 10   /* a shift is amortized over an interval STRETCH times as long as the shift */
};

int64_t trace_corrections_forward(const struct trace_corrections_knot *knot, int64_t time)
{
    if (!knot)
        return time;
    const int64_t passed = trace_clock_subtract(time, knot->time);
    const int64_t moved = trace_clock_add(knot->corrected, passed - passed / CONTROL);
    return moved > time ? moved : time;
}

int64_t trace_corrections_backward(const struct trace_corrections_knot *knot, int64_t time)
{
    if (time <= knot->begin || knot->begin >= knot->time)
        return 0;
    if (time >= knot->time)
        return knot->shift;
    const double passed = (double)trace_clock_subtract(time, knot->begin);
    const double all = (double)trace_clock_subtract(knot->time, knot->begin);
    const double part = passed < all ? passed / all : 1;
    return part < 1 ? (int64_t)((double)knot->shift * part) : knot->shift;
}

bool trace_corrections_add_knot(struct trace_corrections *corrections, uint32_t process,
                                struct trace_corrections_knot knot)
{
    struct trace_corrections_knots *knots = &corrections->processes[process];
    if (!QMPI_MEMORY_RESERVE(knots->all, knots->room, knots->count + 1))
        return false;
    /* Two amortizations must not overlap, because readers apply only one at a time, within the
     * limits of that one. */
    const int64_t earliest = knots->count ? knots->all[knots->count - 1].time : INT64_MIN;
    knot.begin = trace_clock_subtract(
        knot.time, knot.shift < INT64_MAX / STRETCH ? STRETCH * knot.shift : INT64_MAX);
    if (knot.begin < earliest)
        knot.begin = earliest;
    knots->all[knots->count++] = knot;
    const int64_t moved = trace_clock_subtract(knot.corrected, knot.time);
    if (moved > corrections->largest)
        corrections->largest = moved;
    return true;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int compare_limits(const void *one, const void *other)
{
    const struct trace_corrections_limit *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Sorts the limits of a knot by time. The part of `shift` that backward amortization adds grows
 * with time until the knot, so each limit also applies to all earlier times. */
static void order_limits(struct trace_corrections_knot *knot)
{
    if (!knot->limit_count)
        return;
    qsort(knot->limits, knot->limit_count, sizeof *knot->limits, compare_limits);
    for (size_t i = knot->limit_count - 1; i > 0; i--) {
        if (knot->limits[i].most < knot->limits[i - 1].most)
            knot->limits[i - 1].most = knot->limits[i].most;
    }
}

static int64_t find_limit(const struct trace_corrections_knot *knot, int64_t time)
{
    size_t first = 0, count = knot->limit_count;
    while (count) { /* find the first limit that is not before `time` */
        const size_t half = count / 2;
        if (knot->limits[first + half].time < time) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first < knot->limit_count ? knot->limits[first].most : INT64_MAX;
}

/* ---- For readers ----------------------------------------------------------------------------- */

void trace_corrections_start(const struct trace_corrections *corrections, uint32_t process,
                             struct trace_corrections_position *position)
{
    const struct trace_corrections_knots *knots = &corrections->processes[process];
    *position = (struct trace_corrections_position){knots->all, knots->count, 0, 0};
}

int64_t trace_corrections_time(struct trace_corrections_position *position, int64_t time)
{
    const uint64_t event = position->event++;
    while (position->next < position->count && position->knots[position->next].event <= event)
        position->next++;
    const int64_t forward = trace_corrections_forward(
        position->next ? &position->knots[position->next - 1] : NULL, time);
    if (position->next == position->count)
        return forward;
    const struct trace_corrections_knot *next = &position->knots[position->next];
    const int64_t more = trace_corrections_backward(next, time);
    if (!more)
        return forward;
    const int64_t most = find_limit(next, time);
    return trace_clock_add(forward, more < most ? more : most);
}

int64_t trace_corrections_end(const struct trace_corrections *corrections, uint32_t process,
                              int64_t time)
{
    const struct trace_corrections_knots *knots = &corrections->processes[process];
    return trace_corrections_forward(knots->count ? &knots->all[knots->count - 1] : NULL, time);
}

/* ---- All knots ------------------------------------------------------------------------------- */

struct trace_corrections *trace_corrections_make(size_t process_count)
{
    struct trace_corrections *corrections = calloc(1, sizeof *corrections);
    if (!corrections)
        return NULL;
    corrections->processes = calloc(process_count + 1, sizeof *corrections->processes);
    corrections->process_count = process_count;
    if (corrections->processes)
        return corrections;
    free(corrections);
    return NULL;
}

void trace_corrections_order_limits(struct trace_corrections *corrections)
{
    for (size_t i = 0; i < corrections->process_count; i++) {
        for (size_t k = 0; k < corrections->processes[i].count; k++)
            order_limits(&corrections->processes[i].all[k]);
    }
}

void trace_corrections_free(struct trace_corrections *corrections)
{
    if (!corrections)
        return;
    for (size_t i = 0; i < corrections->process_count; i++) {
        for (size_t k = 0; k < corrections->processes[i].count; k++)
            free(corrections->processes[i].all[k].limits);
        free(corrections->processes[i].all);
    }
    free(corrections->processes);
    free(corrections);
}
