/* SPDX-License-Identifier: MIT */
/*
 * Finds pairs of events that send and receive the same message. A message has an arrow if both of
 * its ends are in the view, and it arrives after it was sent. Memory is needed only for messages
 * without an arrow, and for those of which only one end has been read so far.
 */
#ifndef QMPI_TRACE_ANALYSIS_PAIRS_H
#define QMPI_TRACE_ANALYSIS_PAIRS_H

#include "tools/trace/analysis/view.h"
#include "util/util.h"

struct trace_pairs {
    /* Messages without an arrow -> 1 if both ends are in the view, else 0. */
    struct qmpi_table others;
    uint64_t messages;       /* number of messages with an arrow */
    uint64_t sent, received; /* number of messages that are only sent, or only received, in the
                                view */
    uint64_t unnumbered;     /* number of sends and receives without a number: see messages.h */
    uint64_t reversed;       /* number of messages that arrive before they are sent, or at the
                                same time */
    int64_t worst; /* the longest time by which one of these arrives too early, in nanoseconds */
};

/* Finds the pairs. Returns false if memory is exhausted or a file cannot be read. The result must
 * be freed in any case. */
bool trace_pairs_find(struct trace_pairs *pairs, const struct trace_view *view);
void trace_pairs_free(struct trace_pairs *pairs);

/* Returns whether both ends of a message are in the view. */
bool trace_pairs_are_complete(const struct trace_pairs *pairs, uint64_t message);

/* Returns whether a message has an arrow. If `pairs` is NULL, all messages with a number other than
 * 0 have one. */
bool trace_pairs_have(const struct trace_pairs *pairs, uint64_t message);

#endif
