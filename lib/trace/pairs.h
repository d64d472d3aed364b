/* SPDX-License-Identifier: MIT */
/*
 * Which messages of a view have both of their ends in it, and arrive after they were sent: those
 * for which an arrow can be drawn. What is remembered are the others only.
 */
#ifndef QMPI_TRACE_PAIRS_H
#define QMPI_TRACE_PAIRS_H

#include "trace/table.h"
#include "trace/view.h"

struct trace_pairs {
    struct trace_table others; /* messages without an arrow: whether both ends are there */
    uint64_t messages;         /* that have an arrow */
    uint64_t sent, received;   /* messages that were only sent, or only received, in the view */
    uint64_t reversed;         /* messages that arrive before they were sent, or at that moment */
    int64_t worst;             /* by how much, in nanoseconds */
};

/* Returns false if memory is exhausted; free it in any case. */
bool trace_pairs_find(struct trace_pairs *pairs, const struct trace_view *view);
void trace_pairs_free(struct trace_pairs *pairs);

/* Whether a message has both of its ends in the view. */
bool trace_pairs_are_complete(const struct trace_pairs *pairs, uint64_t message);

/* Whether a message has an arrow. `pairs` may be NULL: all have. */
bool trace_pairs_have(const struct trace_pairs *pairs, uint64_t message);

#endif
