/* SPDX-License-Identifier: MIT */
/* A thread notices that its layer was switched on or off, and records it. */
#ifndef QMPI_TOOL_TRACE_RECORD_NOTICE_H
#define QMPI_TOOL_TRACE_RECORD_NOTICE_H

#include "record/recorder.h"

/* Records what has changed since the last time, in the present place of the stream. Returns whether
 * the layer records. */
bool notice_change(struct recorder *recorder);
static inline bool notice_switches(struct recorder *recorder)
{
    const uint64_t state =
        atomic_load_explicit(&recorder->layer->switches.state, memory_order_relaxed);
    return __builtin_expect(recorder->state == state, 1) ? state & 1 : notice_change(recorder);
}

#endif
