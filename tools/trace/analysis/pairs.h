/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events that send and receive the same message. An arrow can be drawn if a view has both
 * ends of a message, and the message arrives after it was sent. Only the other messages need
 * memory.
 */
#ifndef QMPI_TRACE_ANALYSIS_PAIRS_H
#define QMPI_TRACE_ANALYSIS_PAIRS_H

#include "tools/trace/analysis/collectives.h"
#include "tools/trace/analysis/view.h"
#include "util/util.h"

struct trace_pairs {
    struct qmpi_table others;  /* messages without an arrow: whether both ends are there */
    struct qmpi_table partial; /* collectives that not all members begin and end in the view */
    uint64_t messages;         /* that have an arrow */
    uint64_t sent, received;   /* messages that were only sent, or only received, in the view */
    uint64_t unnumbered;       /* ends of messages that have no number: see messages.h */
    uint64_t reversed;         /* messages that arrive before they were sent, or at that moment */
    int64_t worst;             /* by how much, in nanoseconds */
};

/* Returns false if memory is exhausted; free it in any case. */
bool trace_pairs_find(struct trace_pairs *pairs, const struct trace_view *view);
void trace_pairs_free(struct trace_pairs *pairs);

/* Whether a message has both of its ends in the view. */
bool trace_pairs_are_complete(const struct trace_pairs *pairs, uint64_t message);

/* Whether all members of a collective, which has this number, begin and end it in the view. */
bool trace_pairs_have_members(const struct trace_pairs *pairs, uint64_t collective);

/* Whether a message has an arrow. `pairs` may be NULL: all have. */
bool trace_pairs_have(const struct trace_pairs *pairs, uint64_t message);

#endif
