/* SPDX-License-Identifier: MIT */
/*
 * Corrections say by how much each event is moved to a later time. repair.c finds the corrections,
 * and explains the algorithm and its terms.
 */
#ifndef QMPI_TRACE_ANALYSIS_CORRECTIONS_H
#define QMPI_TRACE_ANALYSIS_CORRECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At `time`, backward amortization may add at most `most` to the result of forward
 * amplification. */
struct trace_corrections_limit {
    int64_t time, most;
};

/*
 * At a knot, an event is moved from `time` to `corrected`. Later events are moved by decreasing
 * amounts. Before the event, from `begin` on, backward amortization adds up to `shift` to the
 * times.
 */
struct trace_corrections_knot {
    uint64_t event; /* number of the event in the process */
    int64_t time, corrected, shift, begin;
    /* In order of time after trace_corrections_order_limits. */
    struct trace_corrections_limit *limits;
    size_t limit_count, limit_room;
};

struct trace_corrections {
    struct trace_corrections_knots {
        struct trace_corrections_knot *all; /* in the order of their events */
        size_t count, room;
    } * processes;
    size_t process_count;
    /* These are figures about the corrections. */
    uint64_t messages; /* number of receives that are knots */
    /* Number of ends of collectives that are knots, counted in each process. */
    uint64_t collectives;
    int64_t largest; /* the largest amount by which an event was moved, in nanoseconds */
};

struct trace_view;

/*
 * Finds the corrections of a view that has none. This function is defined in repair.c. `latency` is
 * the minimum latency in nanoseconds. Returns NULL if memory is exhausted or a file cannot be read.
 * The caller frees the result.
 */
struct trace_corrections *trace_corrections_find(const struct trace_view *view, int64_t latency);
void trace_corrections_free(struct trace_corrections *corrections);

/* ---- Finding them ---------------------------------------------------------------------------- */

/* Returns corrections without knots, or NULL if memory is exhausted. */
struct trace_corrections *trace_corrections_make(size_t process_count);

/* Sets the `begin` of a knot, and adds the knot. Returns false if memory is exhausted. */
bool trace_corrections_add_knot(struct trace_corrections *corrections, uint32_t process,
                                struct trace_corrections_knot knot);

/* Sorts the limits. Must be called when all limits have been added to the knots. */
void trace_corrections_order_limits(struct trace_corrections *corrections);

/* Returns the result of forward amplification for an event at `time`. `knot` is the last knot at or
 * before this event, or NULL if there is none. */
int64_t trace_corrections_forward(const struct trace_corrections_knot *knot, int64_t time);

/* Returns how much backward amortization before `knot` would add to `time` if there were no
 * limits. */
int64_t trace_corrections_backward(const struct trace_corrections_knot *knot, int64_t time);

/* ---- Applying them --------------------------------------------------------------------------- */

/* The position of a reader among the events of a process. */
struct trace_corrections_position {
    const struct trace_corrections_knot *knots;
    size_t count, next;
    uint64_t event;
};
void trace_corrections_start(const struct trace_corrections *corrections, uint32_t process,
                             struct trace_corrections_position *position);

/* Returns the corrected time of the next event. `time` is its original time. */
int64_t trace_corrections_time(struct trace_corrections_position *position, int64_t time);

/* Returns the corrected time of the end of a process. */
int64_t trace_corrections_end(const struct trace_corrections *corrections, uint32_t process,
                              int64_t time);

#endif
