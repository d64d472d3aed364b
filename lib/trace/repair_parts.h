/* SPDX-License-Identifier: MIT */
/* The corrections of repair.h, and the two readings that find them. */
#ifndef QMPI_TRACE_REPAIR_PARTS_H
#define QMPI_TRACE_REPAIR_PARTS_H

#include "trace/pairs.h"
#include "trace/repair.h"

/* At `time`, no correction may add more than `most` to what forward amplification gives. */
struct repair_limit {
    int64_t time, most;
};

/*
 * From an event on, times are moved: it to `corrected`, the next ones by less and less. Before it,
 * from `begin` on, backward amortization adds to the times, up to `shift`.
 */
struct repair_knot {
    uint64_t event; /* its number in the process */
    int64_t time, corrected, shift, begin;
    struct repair_limit *limits; /* in order of time */
    size_t limit_count, limit_room;
};

struct repair_knots {
    struct repair_knot *all;
    size_t count, room;
};

struct trace_repair {
    const struct trace_view *view;
    int64_t latency;
    struct repair_knots *processes;
    struct repair_figures figures;
};

/* The time that forward amplification gives `time`, after `knot` (NULL: there is none). */
int64_t trace_repair_forward(const struct repair_knot *knot, int64_t time);

/* What backward amortization before `knot` would add without limits. */
int64_t trace_repair_backward(const struct repair_knot *knot, int64_t time);

/* Returns false if memory is exhausted. */
bool trace_repair_add_knot(struct trace_repair *repair, uint32_t process, struct repair_knot knot);

/* The first reading finds the knots. Returns false if memory is exhausted. */
bool trace_repair_replay(struct trace_repair *repair, const struct trace_pairs *pairs);

/* The second one finds the limits. Returns false if memory is exhausted. */
bool trace_repair_find_limits(struct trace_repair *repair, const struct trace_pairs *pairs);

#endif
