/* SPDX-License-Identifier: MIT */
/* See early.h. */
#include "record/early.h"

#include "record/describe.h"
#include "record/note.h"
#include "toolkit/toolkit.h"

void early_publish(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    struct flight *flight = thread && record_counts(layer, &traits_all[call->function->number])
                                ? flights_begin(&thread->flights, word)
                                : NULL;
    if (flight) {
        record_describe(layer, thread, flight, call);
        flights_publish_since(flight, FLIGHT_NOTED, ticks_now());
    }
}

void early_hide(struct layer *layer, const QMPIX_Word *word)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread)
        flights_end(&thread->flights, word);
}

void early_note(struct layer *layer, const QMPIX_Call *call)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread && record_counts(layer, &traits_all[call->function->number]))
        note(layer, thread, call, NULL, NULL, 0);
}
