/* SPDX-License-Identifier: MIT */
/* See freed_handles.h. */
#include "record/freed_handles.h"

#include "record/comms.h"

void freed_handles_add(struct layer *layer, const QMPIX_Word *word, bool is_file, int number,
                       uint64_t handle)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    /* The stack grows downwards: calls with a lower word were left by a jump. */
    while (thread && thread->leaving_count &&
           (uintptr_t)thread->leaving[thread->leaving_count - 1].word <= (uintptr_t)word)
        thread->leaving_count--;
    if (!thread || number < 0 || thread->leaving_count == LEAVING_MAX)
        return;
    thread->leaving[thread->leaving_count++] = (struct leaving){word, handle, number, is_file};
}

static struct leaving *find_leaving(struct thread *thread, const QMPIX_Word *word)
{
    for (int i = thread ? thread->leaving_count : 0; i > 0; i--) {
        if (thread->leaving[i - 1].word == word)
            return &thread->leaving[i - 1];
    }
    return NULL;
}

struct stats *freed_handles_stats(struct thread *thread, const QMPIX_Word *word)
{
    const struct leaving *leaving = find_leaving(thread, word);
    if (!leaving)
        return NULL;
    const uint64_t key = (uint64_t)leaving->number;
    struct numbered_row *row =
        table_get(leaving->is_file ? &thread->files : &thread->comms, &key, 1);
    return row ? &row->stats : NULL;
}

void freed_handles_end(struct layer *layer, const QMPIX_Word *word, bool succeeded)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    struct leaving *leaving = find_leaving(thread, word);
    if (!leaving)
        return;
    const struct leaving gone = *leaving;
    thread->leaving_count = (int)(leaving - thread->leaving);
    if (!succeeded) {
        pthread_mutex_lock(&layer->lock);
        handles_set(gone.is_file ? &layer->files.handles : &layer->comms.handles, gone.handle,
                    gone.number);
        pthread_mutex_unlock(&layer->lock);
    } else if (!gone.is_file) {
        comms_free(layer, gone.number);
    }
}
