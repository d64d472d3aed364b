/* SPDX-License-Identifier: MIT */
/*
 * This part records calls whose events need several records: the begin and the end of a call, and
 * the messages, collectives, one-sided accesses, file accesses and created objects in between. A
 * usual call, such as MPI_Send outside of other calls, does not pass through this part: observe.c
 * makes its only record. A call with several records is opened by a record of its own, and closed
 * by another one when it returns.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_CALL_EVENTS_H
#define QMPI_TOOL_TRACE_RECORD_CALL_EVENTS_H

#include "tools/trace/record/recorder.h"

/* Opens a call in progress if it is not open, and records the events at its beginning. A call is
 * opened at the latest before another call is made within it, or when it ends and needs several
 * records. */
void call_events_open(struct recorder *recorder, struct flight *flight);

/* Queries MPI about a call that begins, so that it can be opened later without queries. To be
 * called when the flight was published, before the call is carried out. It is opened, if at all,
 * before another call of the recorder is prepared. */
void call_events_prepare(struct recorder *recorder, const struct flight *flight);

/* Opens all calls in progress. */
void call_events_open_all(struct recorder *recorder);

/* Follows the operations (operation.h) that a call has started, initialized, cancelled or matched,
 * and records those that it has started, at the time `ticks`. The call must have succeeded. */
void call_events_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                      uint64_t ticks);

/* Records the events at the end of a call that has succeeded and ended at `ticks`. */
void call_events_end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                     uint64_t ticks);

/* Records that the innermost calls were left with longjmp or an exception, and forgets them. `word`
 * is the word of a call that begins, by which the calls that were left are recognized. */
void call_events_end_left(struct recorder *recorder, const QMPIX_Word *word);

/* Does the same when `last` returns, for the calls within `last`, which were left. */
void call_events_end_inner(struct recorder *recorder, const struct flight *last);

/* If the layer was switched on or off since the last call of this function, records this at the
 * current position in the stream. Returns whether the layer records. */
bool call_events_follow_change(struct recorder *recorder);
static inline bool call_events_follow_switches(struct recorder *recorder)
{
    const uint64_t state =
        atomic_load_explicit(&recorder->layer->switches.state, memory_order_relaxed);
    return __builtin_expect(recorder->state == state, 1) ? state & 1
                                                         : call_events_follow_change(recorder);
}

#endif
