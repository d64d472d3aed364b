/* SPDX-License-Identifier: MIT */
/*
 * This part records the events of a call: its begin and its end, and the messages, collectives,
 * one-sided accesses, file accesses, created objects and freed objects in between.
 *
 * Most calls are a single record, which is made when they have returned. If other records belong to
 * a call, the call is opened by a record of its own and is closed by another one when it returns.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_CALL_EVENTS_H
#define QMPI_TOOL_TRACE_RECORD_CALL_EVENTS_H

#include "tools/trace/record/recorder.h"

/* Opens a call in progress if it is not open, and records the events at its beginning. This
 * function is called in `before` of a call within it or in its own `after`. */
void call_events_open(struct recorder *recorder, struct flight *flight);

/* Opens all calls in progress. */
void call_events_open_all(struct recorder *recorder);

/* Records the operations that a call has started. The call must have succeeded. */
void call_events_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                      uint64_t ticks);

/* Records the events at the end of a call that has succeeded. */
void call_events_end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                     uint64_t ticks);

/* Records that the innermost calls were left with longjmp or an exception, and forgets them. They
 * are recognized by `word`, the word of a call that begins. */
void call_events_end_left(struct recorder *recorder, const QMPIX_Word *word);

/* Records and forgets the calls within `last` in the same way when `last` returns. */
void call_events_end_inner(struct recorder *recorder, const struct flight *last);

/* Records that the layer was switched on or off since the last call of this function, at the
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
