/* SPDX-License-Identifier: MIT */
/* See freed_handles.h. */
#include "record/freed_handles.h"

#include "record/comms.h"

void freed_handles_add(struct layer *layer, const QMPIX_Word *word, bool is_file, int number,
                       uint64_t handle)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread)
        leavings_add(&thread->leavings, &(struct leaving){word, handle, number, is_file});
}

struct stats *freed_handles_stats(struct thread *thread, const QMPIX_Word *word)
{
    const struct leaving *leaving = leavings_find(&thread->leavings, word);
    if (!leaving)
        return NULL;
    const uint64_t key = (uint64_t)leaving->number;
    struct numbered_row *row = table_get(leaving->kind ? &thread->files : &thread->comms, &key, 1);
    return row ? &row->stats : NULL;
}

void freed_handles_end(struct layer *layer, const QMPIX_Word *word, bool succeeded)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    const struct leaving *leaving = thread ? leavings_find(&thread->leavings, word) : NULL;
    if (!leaving)
        return;
    const struct leaving gone = *leaving;
    leavings_end(&thread->leavings, leaving);
    if (!succeeded) {
        pthread_mutex_lock(&layer->lock);
        handles_set(gone.kind ? &layer->files.handles : &layer->comms.handles, gone.handle,
                    gone.number);
        pthread_mutex_unlock(&layer->lock);
    } else if (!gone.kind) {
        comms_free(layer, gone.number);
    }
}
