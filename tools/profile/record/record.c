/* SPDX-License-Identifier: MIT */
/*
 * See record.h. All that is noted of a call is noted when it has returned: then what it was given
 * is known to be right, statuses are there, and `word` need hold nothing but whether it counts.
 */
#include "record/record.h"

#include "record/control.h"
#include "record/describe.h"
#include "record/message.h"
#include "record/note.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/sends.h"
#include "toolkit/toolkit.h"

/* ---- Any call -------------------------------------------------------------------------------- */

/* Also while profiling is off: whether a rank waits must not hang on what another one switched. */
static uint64_t wait_for_others(const QMPIX_Call *call, struct flight *flight, bool counted,
                                int argument)
{
    const MPI_Comm comm = argument_comm(call, argument);
    if (comm == MPI_COMM_NULL)
        return 0;
    const uint64_t begin = ticks_now();
    if (flight && counted)
        flights_publish_since(flight, FLIGHT_WAITS, begin);
    PMPI_Barrier(comm);
    return ticks_now() - begin;
}

/* Any call, also where there is more to do than to note that it begins. */
static void begin(struct layer *layer, struct thread_level *level, const QMPIX_Call *call,
                  QMPIX_Word *word)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->is_controlled && control_before(layer, call, word))
        return;
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    const bool counted = thread && record_counts(layer, traits);
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    struct flight *flight =
        thread && (counted || completes) ? flights_begin(&thread->flights, word) : NULL;
    if (flight && counted)
        record_describe(layer, thread, flight, call);
    if (flight && completes)
        receives_hold(layer, flight, call);
    if (traits->receives == RECEIVES_FREES)
        receives_forget(layer, call);
    if (layer->options.sync && traits->waits) {
        const uint64_t wait = wait_for_others(call, flight, counted, traits->comm);
        if (flight)
            flights_renumber(flight, wait);
    }
    if (!counted)
        return;
    word->number = 1;
    if (flight)
        flights_publish_run(flight, call, word);
}

static void end(struct layer *layer, struct thread_level *level, const QMPIX_Call *call,
                const QMPIX_Word *word, uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool counted = word->number != 0, completes = traits->receives == RECEIVES_COMPLETES;
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    struct flight *flight = thread ? flights_end(&thread->flights, word) : NULL;
    if (thread && completes)
        peer_waits_expect(thread, time);
    if (flight && completes)
        receives_complete(layer, thread, flight, call);
    if (thread && counted)
        note(layer, thread, call, word, flight, time);
    if (thread && traits->receives == RECEIVES_MAKES && argument_result_is_success(call))
        receives_add(layer, call);
    if (traits->is_controlled)
        control_after(layer, call, word, counted, time);
}

/* ---- Callbacks -------------------------------------------------------------------------------
 * Calls of most functions come from a place that was seen before, and are within no other one. They
 * are told apart before anything is changed; what they need is done without a function call.
 */

__attribute__((noinline)) static void begin_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    begin(call->observer->data, level, call, word);
    thread_level_leave(level);
}

void observe_end(const QMPIX_Call *call, const QMPIX_Word *word, uint64_t time)
{
    struct thread_level *level = thread_level_enter_at(word);
    end(call->observer->data, level, call, word, time);
    thread_level_leave(level);
}

__attribute__((noinline)) static void end_any(const QMPIX_Call *call, const QMPIX_Word *word)
{
    uint64_t begun = 0, ended = 0;
    QMPIX_Call_get_time(call, &begun, &ended);
    observe_end(call, word, ended > begun ? ended - begun : 0);
}

/* The notes of this thread for a layer if they exist, and are used neither by a call under way nor
 * by work that was interrupted; else NULL. */
static inline struct thread *idle_notes(const struct layer *layer, const struct thread_level *level)
{
    const struct thread_row *row = (const struct thread_row *)level;
    return __builtin_expect(row && !level->busy, 1) ? row->by_layer[layer->tool_id] : NULL;
}

__attribute__((always_inline)) static inline void
observe_begin(const QMPIX_Call *call, QMPIX_Word *word, void **callers, size_t depth)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread *thread = idle_notes(layer, level);
    const uint64_t key = (uint64_t)call->function->number | regions_place(&layer->regions);
    struct site *site;
    if (__builtin_expect(thread && flights_are_none(&thread->flights) &&
                             (site = sites_find_recent(thread, key, callers, depth)),
                         1)) {
        thread_level_take(level, word);
        flights_run_first(&thread->flights, call, word, 0, site);
        thread_level_leave_first(level);
    } else {
        begin_any(call, word);
    }
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *caller;
    sites_callers(call, &caller, 1);
    observe_begin(call, word, &caller, 1);
}

void observe_before_deep(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    void *callers[PROFILE_DEPTH_MAX];
    if (traits_all[call->function->number].begins_simply) {
        sites_callers(call, callers, (size_t)layer->options.depth);
        observe_begin(call, word, callers, (size_t)layer->options.depth);
    } else {
        begin_any(call, word);
    }
}

static inline uint64_t time_of(const QMPIX_Call *call)
{
    const uint64_t *times = flights_times(call);
    return times[1] > times[0] ? times[1] - times[0] : 0;
}

__attribute__((noinline)) static void end_message(const QMPIX_Call *call, QMPIX_Word *word,
                                                  struct thread *thread)
{
    struct thread_level *level = thread_level_current;
    struct site *site = thread->flights.first.data;
    const uint64_t time = time_of(call), ended = flights_times(call)[1];
    const struct layer *layer = call->observer->data;
    struct message message;
    thread_level_take(level, word);
    const bool found = message_find(thread, call, site, &message);
    if (found) {
        flights_end_first(&thread->flights);
        note_site(site, time);
        note_call(&site->row->stats, time);
        windows_note(&thread->windows, &layer->regions.scale, time, ended);
        message_note(site, &message);
        if (__builtin_expect(time > peer_waits_floor, 0))
            peer_waits_note(thread, call, site, time, message.bytes);
        if (__builtin_expect(sends_may_wait(&traits_all[call->function->number], message.bytes), 0))
            sends_post(call->observer->data, call, message.bytes);
    }
    thread_level_leave_first(level);
    if (!found)
        end_any(call, word);
}

/* Whether the only call of the thread ends in the usual way; then `row` is where its communicator's
 * calls are noted (NULL: it has none). */
static inline bool ends_usually(const struct layer *layer, const struct thread *thread,
                                const QMPIX_Call *call, const QMPIX_Word *word,
                                struct numbered_row **row)
{
    const struct site *site = thread->flights.first.data;
    if (!flights_run_only(&thread->flights, word) || !site ||
        site->usual != regions_place(&layer->regions))
        return false;
    *row = NULL;
    if (site->comm_argument < 0)
        return true;
    *row = site->row;
    return note_is_comm_of(layer, site, argument_word(call, site->comm_argument));
}

/* The end of a call that ends in another window than the last one. It is called last, so that
 * observe_after saves no registers. */
__attribute__((noinline)) static void end_in_next_window(const struct layer *layer,
                                                         struct thread *thread,
                                                         struct thread_level *level, uint64_t time,
                                                         uint64_t ended)
{
    windows_add(&thread->windows, &layer->regions.scale, ended - time, ended);
    thread_level_leave_first(level);
}

void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread *thread = idle_notes(layer, level);
    struct numbered_row *row;
    if (__builtin_expect(!thread || !ends_usually(layer, thread, call, word, &row), 0)) {
        end_any(call, word);
        return;
    }
    struct site *site = thread->flights.first.data;
    if (site->end != SITE_ENDS_PLAINLY) {
        end_message(call, word, thread);
        return;
    }
    const uint64_t time = time_of(call), ended = flights_times(call)[1];
    thread_level_take(level, word);
    flights_end_first(&thread->flights);
    note_site(site, time);
    if (row)
        note_call(&row->stats, time);
    if (__builtin_expect(ended >= thread->windows.end, 0)) {
        end_in_next_window(layer, thread, level, time, ended);
        return;
    }
    note_add(thread->windows.time, time);
    thread_level_leave_first(level);
}
