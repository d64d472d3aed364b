/* SPDX-License-Identifier: MIT */
/* See switches.h. */
#include "record/switches.h"

void switches_make(struct layer *layer, uint64_t off)
{
    layer->switches.off = off;
    atomic_store(&layer->switches.state, off ? 2 : 1);
}

void switches_set(struct layer *layer, uint64_t reason, bool is_there)
{
    struct switches *switches = &layer->switches;
    pthread_mutex_lock(&layer->lock);
    const bool was_on = !switches->off;
    switches->off = is_there ? switches->off | reason : switches->off & ~reason;
    const bool is_on = !switches->off;
    if (is_on != was_on) {
        switches->ticks[is_on] = ticks_now();
        atomic_fetch_add(&switches->state, 1);
    }
    pthread_mutex_unlock(&layer->lock);
}
