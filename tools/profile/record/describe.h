/* SPDX-License-Identifier: MIT */
/* What is told of a call while it is under way. */
#ifndef QMPI_TOOL_PROFILE_RECORD_DESCRIBE_H
#define QMPI_TOOL_PROFILE_RECORD_DESCRIBE_H

#include "layer.h"
#include "record/callsites.h"
#include "record/note.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"

/* Whether calls of a function are noted now. */
static inline bool record_counts(const struct layer *layer, const struct traits *traits)
{
    if (!regions_are_on(&layer->regions))
        return false;
    return !traits_set_always_on(traits, layer->options.sync) ||
           profile_is_on_for(layer, (int)(traits - traits_all));
}

static inline void record_describe(struct layer *layer, struct thread *thread,
                                   struct flight *flight, const QMPIX_Call *call)
{
    const uint64_t key = note_key(layer, call, flight != &thread->flights.first);
    flights_describe(flight, call, sites_find(thread, key, call, layer->options.depth));
}

#endif
