/* SPDX-License-Identifier: MIT */
/*
 * A call that has returned, noted in this thread's tables: what it cost and carried, for its
 * function, call site, communicator or file, and peers. The way of the usual call is short: most
 * functions carry nothing, and what is rare is out of line.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_NOTE_H
#define QMPI_TOOL_PROFILE_RECORD_NOTE_H

#include "layer.h"
#include "record/callsites.h"
#include "record/regions.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"

#include <qmpi/observer.h>

static inline bool note_has_succeeded(const QMPIX_Call *call, const struct traits *traits)
{
    return !traits->has_error || !call->result || argument_result_is_success(call);
}

/* The key of a call that returns, or begins, now; see CALL_APART. */
static inline uint64_t note_key(const struct layer *layer, const QMPIX_Call *call, bool is_inner)
{
    return (uint64_t)call->function->number |
           (regions_place(&layer->regions) & ~(uint64_t)CALL_OFF) | (is_inner ? CALL_APART : 0);
}

/* Whether site->row is the communicator's, of which `comm` is the word. */
static inline bool note_is_comm_of(const struct layer *layer, const struct site *site,
                                   uint64_t comm)
{
    return site->comm == comm && site->changes == handles_changes(&layer->comms.handles);
}

static inline void note_site(struct site *site, uint64_t time)
{
    const uint64_t last = site->last;
    note_call(&site->stats, time);
    __atomic_store_n(&site->last, time, __ATOMIC_RELEASE);
    note_add(&site->function->times[note_time_bin(last)], 1);
}

/* Notes any call. `flight`: what was noted of it when it began; NULL: nothing, memory was out.
 * `time`: its ticks. */
void note(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
          const QMPIX_Word *word, const struct flight *flight, uint64_t time);

#endif
