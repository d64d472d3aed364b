/* SPDX-License-Identifier: MIT */
/* See repair.h. */
#include "trace/repair.h"

#include "trace/repair_parts.h"

#include <stdlib.h>

enum {
    CONTROL = 100, /* the control factor is 1 - 1 / CONTROL */
    STRETCH = 10   /* a shift is amortized over an interval that is longer by this factor */
};

int64_t trace_repair_forward(const struct repair_knot *knot, int64_t time)
{
    if (!knot)
        return time;
    const int64_t passed = time - knot->time;
    const int64_t moved = knot->corrected + passed - passed / CONTROL;
    return moved > time ? moved : time;
}

int64_t trace_repair_backward(const struct repair_knot *knot, int64_t time)
{
    if (time <= knot->begin || knot->begin >= knot->time)
        return 0;
    if (time >= knot->time)
        return knot->shift;
    return (int64_t)((double)knot->shift * (double)(time - knot->begin) /
                     (double)(knot->time - knot->begin));
}

bool trace_repair_add_knot(struct trace_repair *repair, uint32_t process, struct repair_knot knot)
{
    struct repair_knots *knots = &repair->processes[process];
    if (knots->count == knots->room) {
        const size_t room = knots->room ? 2 * knots->room : 8;
        struct repair_knot *larger = realloc(knots->all, room * sizeof *larger);
        if (!larger)
            return false;
        knots->all = larger;
        knots->room = room;
    }
    /* Two amortizations do not overlap: the limits of both would have to be added. */
    const int64_t earliest = knots->count ? knots->all[knots->count - 1].time : INT64_MIN;
    knot.begin = knot.time - STRETCH * knot.shift;
    if (knot.begin < earliest)
        knot.begin = earliest;
    knots->all[knots->count++] = knot;
    if (knot.corrected - knot.time > repair->figures.largest)
        repair->figures.largest = knot.corrected - knot.time;
    return true;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int compare(const void *one, const void *other)
{
    const struct repair_limit *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Sorts them; as corrections may only grow, each limit also holds for all earlier times. */
static void order_limits(struct repair_knot *knot)
{
    if (!knot->limit_count)
        return;
    qsort(knot->limits, knot->limit_count, sizeof *knot->limits, compare);
    for (size_t i = knot->limit_count - 1; i > 0; i--) {
        if (knot->limits[i].most < knot->limits[i - 1].most)
            knot->limits[i - 1].most = knot->limits[i].most;
    }
}

static int64_t limit_at(const struct repair_knot *knot, int64_t time)
{
    size_t first = 0, count = knot->limit_count;
    while (count) { /* the first limit that is not before it */
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

void trace_repair_start(const struct trace_repair *repair, uint32_t process,
                        struct repair_position *position)
{
    const struct repair_knots *knots = &repair->processes[process];
    *position = (struct repair_position){knots->all, knots->count, 0, 0};
}

int64_t trace_repair_time(struct repair_position *position, int64_t time)
{
    const uint64_t event = position->event++;
    while (position->next < position->count && position->knots[position->next].event <= event)
        position->next++;
    const int64_t forward =
        trace_repair_forward(position->next ? &position->knots[position->next - 1] : NULL, time);
    if (position->next == position->count)
        return forward;
    const struct repair_knot *next = &position->knots[position->next];
    const int64_t more = trace_repair_backward(next, time);
    if (!more)
        return forward;
    const int64_t most = limit_at(next, time);
    return forward + (more < most ? more : most);
}

int64_t trace_repair_end(const struct trace_repair *repair, uint32_t process, int64_t time)
{
    const struct repair_knots *knots = &repair->processes[process];
    return trace_repair_forward(knots->count ? &knots->all[knots->count - 1] : NULL, time);
}

struct repair_figures trace_repair_figures(const struct trace_repair *repair)
{
    return repair->figures;
}

/* ---- Making ---------------------------------------------------------------------------------- */

struct trace_repair *trace_repair_make(const struct trace_view *view, int64_t latency)
{
    struct trace_pairs pairs;
    struct trace_repair *repair = calloc(1, sizeof *repair);
    if (!repair)
        return NULL;
    *repair = (struct trace_repair){.view = view, .latency = latency};
    repair->processes = calloc(view->trace->process_count + 1, sizeof *repair->processes);
    bool good = trace_pairs_find(&pairs, view) && repair->processes;
    good = good && trace_repair_replay(repair, &pairs) && trace_repair_find_limits(repair, &pairs);
    trace_pairs_free(&pairs);
    if (!good) {
        trace_repair_free(repair);
        return NULL;
    }
    for (size_t i = 0; i < view->trace->process_count; i++) {
        for (size_t k = 0; k < repair->processes[i].count; k++)
            order_limits(&repair->processes[i].all[k]);
    }
    return repair;
}

void trace_repair_free(struct trace_repair *repair)
{
    if (!repair)
        return;
    for (size_t i = 0; repair->processes && i < repair->view->trace->process_count; i++) {
        for (size_t k = 0; k < repair->processes[i].count; k++)
            free(repair->processes[i].all[k].limits);
        free(repair->processes[i].all);
    }
    free(repair->processes);
    free(repair);
}
