/* SPDX-License-Identifier: MIT */
/*
 * Describes a call when it begins, and counts it, usually when it has returned, in the tables of
 * its thread: its time and bytes by function, call site, communicator, file and peer. Call these
 * functions between thread_level_enter and thread_level_leave. Times are in ticks
 * (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_CALL_H
#define QMPI_TOOL_PROFILE_RECORD_CALL_H

#include "toolkit/toolkit.h"
#include "tools/profile/layer.h"
#include "tools/profile/record/outside.h"
#include "tools/profile/record/regions.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/traits.h"

#include <qmpi/observer.h>

#include <stdbool.h>

/* Returns the key of a call that begins or returns now (see CALL_APART). `is_inner` tells whether
 * the call was made within another call. */
static inline uint64_t call_make_key(const struct layer *layer, const QMPIX_Call *call,
                                     bool is_inner)
{
    return (uint64_t)call->function->number |
           (regions_place(&layer->regions) & ~(uint64_t)CALL_OFF) | (is_inner ? CALL_APART : 0);
}

/* Returns whether site->row belongs to the communicator with this handle. */
static inline bool call_is_on_comm_of(const struct layer *layer, const struct thread_site *site,
                                      uint64_t comm)
{
    return site->comm == comm && site->changes == handles_changes(&layer->comms.handles);
}

static inline void call_add_to_site(struct thread_site *site, uint64_t time)
{
    const uint64_t last = site->last;
    thread_count_call(&site->stats, time);
    __atomic_store_n(&site->last, time, __ATOMIC_RELEASE);
    figure_add(&site->function->times[thread_time_bin(last)], 1);
}

/* Counts a call of any function. `flight` has described the call since it began; it is NULL if
 * memory was exhausted. If the call has not returned yet, `word` and `flight` are NULL. */
void call_add(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
              const QMPIX_Word *word, const struct flight *flight, uint64_t time);

/* Returns whether calls of a function are counted now. A layer that is off still observes the
 * functions of traits_set_always_on, but does not count their calls. */
static inline bool call_counts(const struct layer *layer, const struct traits *traits)
{
    if (!regions_are_on(&layer->regions))
        return false;
    return !traits_set_always_on(traits, layer->options.sync) ||
           layer_is_on_for(layer, (int)(traits - traits_all));
}

static inline void call_describe(struct layer *layer, struct thread_profile *thread,
                                 struct flight *flight, const QMPIX_Call *call)
{
    const uint64_t key = call_make_key(layer, call, flight != &thread->flights.first);
    struct thread_site *site = thread_site_find(thread, key, call, layer->options.depth);
    if (site && !(key & CALL_APART))
        outside_find(thread, site);
    flights_describe(flight, call, site);
}

/* ---- Calls that are counted before they return ----------------------------------------------- */

/* Calls such as MPI_Finalize are counted early, because the result is made before they return. */

/* Counts such a call, with a time of 0. */
void call_add_early(struct layer *layer, const QMPIX_Call *call);

/* Call these before and after the work that delays such a call. If the data of the process is saved
 * meanwhile, the call is listed as in progress. */
void call_show_early(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word);
void call_hide_early(struct layer *layer, const QMPIX_Word *word);

#endif
