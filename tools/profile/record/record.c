/* SPDX-License-Identifier: MIT */
/*
 * See record.h. All that is noted of a call is noted when it has returned: then what it was given
 * is known to be right, statuses are there, and `word` need hold nothing but whether it counts.
 */
#include "record/record.h"

#include "record/control.h"
#include "record/describe.h"
#include "record/note.h"
#include "record/receives.h"
#include "record/ticks.h"
#include "toolkit/toolkit.h"

/* ---- Any call -------------------------------------------------------------------------------- */

/* Also while profiling is off: whether a rank waits must not hang on what another one switched. */
static uint64_t wait_for_others(const QMPIX_Call *call, struct flight *flight, bool counted,
                                int argument)
{
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[argument];
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
            flights_wait(flight, wait);
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
    if (flight && completes)
        receives_complete(layer, thread, flight, call);
    if (thread && counted)
        note(layer, thread, call, word, flight, time);
    if (thread && traits->receives == RECEIVES_MAKES && *(const int *)call->result == MPI_SUCCESS)
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

__attribute__((noinline)) static void end_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    uint64_t begun = 0, ended = 0;
    QMPIX_Call_get_time(call, &begun, &ended);
    struct thread_level *level = thread_level_enter_at(word);
    end(call->observer->data, level, call, word, ended > begun ? ended - begun : 0);
    thread_level_leave(level);
}

/* The notes of this thread for a layer if they exist, and are used neither by a call under way nor
 * by work that was interrupted; else NULL. */
static inline struct thread *idle_notes(const struct layer *layer, const struct thread_level *level)
{
    const struct thread_row *row = (const struct thread_row *)level;
    return __builtin_expect(row && !level->busy, 1) ? row->by_layer[layer->tool_id] : NULL;
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *caller = NULL;
    QMPIX_Call_get_caller(call, &caller);
    struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread *thread = idle_notes(layer, level);
    struct site *site;
    if (__builtin_expect(
            thread && !thread->flights.top && traits_all[call->function->number].begins_simply &&
                atomic_load_explicit(&layer->regions.on, memory_order_relaxed) &&
                (site = sites_find_recent(thread, note_key(layer, call, false), caller)),
            1)) {
        thread_level_take(level, word);
        struct flight *flight = flights_begin_first(&thread->flights, word);
        flights_describe(flight, call, site);
        word->number = flights_publish(flight, FLIGHT_RUNS);
        thread_level_leave(level);
    } else {
        begin_any(call, word);
    }
}

void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread *thread = idle_notes(layer, level);
    struct flight *flight = thread ? &thread->flights.first : NULL;
    const struct traits *traits = &traits_all[call->function->number];
    if (__builtin_expect(thread && thread->flights.top == flight && flight->word == word &&
                             word->number && !flight->wait && traits->ends_plainly &&
                             note_is_usual(layer, call, traits, flight->site),
                         1)) {
        const uint64_t *times = flights_times(call);
        const uint64_t time = times[1] > times[0] ? times[1] - times[0] : 0;
        thread_level_take(level, word);
        flights_end_first(&thread->flights);
        note_usual(flight->site, traits, time);
        thread_level_leave(level);
    } else {
        end_any(call, word);
    }
}
