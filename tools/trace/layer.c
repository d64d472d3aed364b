/* SPDX-License-Identifier: MIT */
/* See layer.h. */
#include "tools/trace/layer.h"

#include <unistd.h>

struct layer *layer_list;
static pid_t owner;

void layer_add(struct layer *layer)
{
    owner = getpid();
    layer->next = layer_list;
    layer_list = layer;
}

bool layer_is_in_owner(void)
{
    return owner == getpid();
}

void layer_set_first_off(struct layer *layer, uint64_t off)
{
    layer->switches.off = off;
    atomic_store(&layer->switches.state, off ? 2 : 1);
}

void layer_set_off(struct layer *layer, uint64_t reason, bool is_there)
{
    struct layer_switches *switches = &layer->switches;
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
