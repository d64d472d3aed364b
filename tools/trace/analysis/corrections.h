/* SPDX-License-Identifier: MIT */
/*
 * Corrected times: how far the events of each process are moved to later times. repair.c says why,
 * and finds the corrections.
 */
#ifndef QMPI_TRACE_ANALYSIS_CORRECTIONS_H
#define QMPI_TRACE_ANALYSIS_CORRECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At `time`, no correction may add more than `most` to what forward amplification gives. */
struct trace_corrections_limit {
    int64_t time, most;
};

/*
 * From an event on, times are moved: it to `corrected`, the next ones by less and less. Before it,
 * from `begin` on, backward amortization adds to the times, up to `shift`.
 */
struct trace_corrections_knot {
    uint64_t event; /* its number in the process */
    int64_t time, corrected, shift, begin;
    struct trace_corrections_limit *limits; /* in the order of time */
    size_t limit_count, limit_room;
};

struct trace_corrections {
    struct trace_corrections_knots {
        struct trace_corrections_knot *all; /* in the order of events */
        size_t count, room;
    } * processes;
    size_t process_count;
    /* Figures: */
    uint64_t messages;    /* whose receive has been moved */
    uint64_t collectives; /* whose end has been moved, counted by process */
    int64_t largest;      /* by which an event has been moved, in nanoseconds */
};

struct trace_view;

/*
 * Finds the corrections of a view without any, in repair.c. `latency` is the least latency in
 * nanoseconds. Returns NULL if memory is exhausted; the caller frees the result.
 */
struct trace_corrections *trace_corrections_find(const struct trace_view *view, int64_t latency);
void trace_corrections_free(struct trace_corrections *corrections);

/* ---- Finding them ---------------------------------------------------------------------------- */

/* Without any knots. NULL: memory is exhausted. */
struct trace_corrections *trace_corrections_make(size_t process_count);

/* Adds a knot, whose `begin` this function sets. Returns false if memory is exhausted. */
bool trace_corrections_add_knot(struct trace_corrections *corrections, uint32_t process,
                                struct trace_corrections_knot knot);

/* To be called when all limits have been added to the knots. */
void trace_corrections_order_limits(struct trace_corrections *corrections);

/* The time that forward amplification gives `time`, after `knot` (NULL: there is none). */
int64_t trace_corrections_forward(const struct trace_corrections_knot *knot, int64_t time);

/* The correction that backward amortization before `knot` would add without limits. */
int64_t trace_corrections_backward(const struct trace_corrections_knot *knot, int64_t time);

/* ---- Applying them --------------------------------------------------------------------------- */

/* The position of a reader of the events of a process. */
struct trace_corrections_position {
    const struct trace_corrections_knot *knots;
    size_t count, next;
    uint64_t event;
};
void trace_corrections_start(const struct trace_corrections *corrections, uint32_t process,
                             struct trace_corrections_position *position);

/* The corrected time of the next event. */
int64_t trace_corrections_time(struct trace_corrections_position *position, int64_t time);

/* The corrected time of the end of a process. */
int64_t trace_corrections_end(const struct trace_corrections *corrections, uint32_t process,
                              int64_t time);

#endif
