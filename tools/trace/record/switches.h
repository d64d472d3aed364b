/* SPDX-License-Identifier: MIT */
/*
 * Whether a layer records. There may be several reasons why it does not (OFF_… in layer.h). Each
 * thread notices a change with its next call: see notice.h.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_SWITCHES_H
#define QMPI_TOOL_TRACE_RECORD_SWITCHES_H

#include "layer.h"

/* To be called in `init`, with the reasons that there are then. */
void switches_make(struct layer *layer, uint64_t off);

/* Adds a reason, or removes it. Any thread. */
void switches_set(struct layer *layer, uint64_t reason, bool is_there);

/* Whether the layer records now. */
static inline bool switches_are_on(const struct layer *layer)
{
    return atomic_load_explicit(&layer->switches.state, memory_order_relaxed) & 1;
}

#endif
