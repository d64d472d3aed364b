/* SPDX-License-Identifier: MIT */
/*
 * A call that has returned, noted in this thread's tables: what it cost and carried, for its
 * function, call site, communicator or file, and peers. The way of the usual call is short: most
 * functions carry nothing, and what is rare is out of line.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_NOTE_H
#define QMPI_TOOL_PROFILE_RECORD_NOTE_H

#include "layer.h"
#include "record/traits.h"

#include <qmpi/observer.h>

static inline bool note_has_succeeded(const QMPIX_Call *call, const struct traits *traits)
{
    return !traits->has_error || !call->result || *(const int *)call->result == MPI_SUCCESS;
}

/* Notes a call that carries something, and one that does not. `flight`: what was noted of it when
 * it began; NULL: nothing, memory was out. `time`: its ticks. */
void note_carrying(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                   const QMPIX_Word *word, const struct flight *flight, uint64_t time);
void note_plainly(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                  const QMPIX_Word *word, const struct flight *flight, uint64_t time);

static inline void note(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                        const QMPIX_Word *word, const struct flight *flight, uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->carries && note_has_succeeded(call, traits))
        note_carrying(layer, thread, call, word, flight, time);
    else
        note_plainly(layer, thread, call, word, flight, time);
}

#endif
