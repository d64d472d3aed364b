/* SPDX-License-Identifier: MIT */
/*
 * Whether a layer records. There may be several reasons why it does not (OFF_… in layer.h). Each
 * thread notices a change with its next call, and records it.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_SWITCHES_H
#define QMPI_TOOL_TRACE_RECORD_SWITCHES_H

#include "record/recorder.h"

/* To be called in `init`, with the reasons that there are then. */
void switches_make(struct layer *layer, uint64_t off);

/* Adds a reason, or removes it. Any thread. */
void switches_set(struct layer *layer, uint64_t reason, bool is_there);

/* Whether the layer records now. */
static inline bool switches_are_on(const struct layer *layer)
{
    return atomic_load_explicit(&layer->switches.state, memory_order_relaxed) & 1;
}

/* Records what has changed since the last time, in the present place of the stream. Returns whether
 * the layer records. */
bool switches_notice_change(struct recorder *recorder);
static inline bool switches_notice(struct recorder *recorder)
{
    const uint64_t state =
        atomic_load_explicit(&recorder->layer->switches.state, memory_order_relaxed);
    return __builtin_expect(recorder->state == state, 1) ? state & 1
                                                         : switches_notice_change(recorder);
}

#endif
