/* SPDX-License-Identifier: MIT */
/*
 * See observe.h. Most calls are one record, which is made when they have returned: then the clock
 * readings, the arguments and the statuses are there. Before a call, it is only noted that it is in
 * progress, for calls within it and for the case that it does not return. The callbacks tell the
 * usual calls apart before anything is changed, and record them without a function call.
 */
#include "record/observe.h"

#include "record/any_end.h"
#include "record/control.h"
#include "record/message.h"
#include "record/notice.h"
#include "record/objects.h"
#include "record/open_calls.h"
#include "record/recorder.h"
#include "record/requests.h"
#include "record/sites.h"
#include "record/usual_end.h"

/* ---- What calls of a function are ------------------------------------------------------------ */

static enum trait_end end_of(const struct traits *traits, const QMPIX_Function *function)
{
    switch (traits->action) {
    case DOES_NOTHING:
        return traits->tells_file ? END_OTHERWISE : traits->tells_comm ? END_COMM : END_PLAIN;
    case DOES_SEND:
        return message_is_simple(function) ? END_SEND : END_OTHERWISE;
    case DOES_RECEIVE:
        return message_is_simple(function) ? END_RECEIVE : END_OTHERWISE;
    default:
        return END_OTHERWISE;
    }
}

void observe_prepare(struct layer *layer)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        layer->ends[number] = END_OTHERWISE;
        if (layer->options.chosen[number] && !layer->options.counters &&
            QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            layer->ends[number] = (unsigned char)end_of(&traits_all[number], function);
    }
}

/* ---- Any call -------------------------------------------------------------------------------- */

/* What is to be done before a call, whether or not it is recorded. */
static void follow_begin(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                         const QMPIX_Word *word)
{
    switch (traits_all[call->function->number].action) {
    case DOES_COMPLETE:
        requests_hold(recorder, flight, call);
        break;
    case DOES_FREE_REQUEST:
        requests_begin_free(recorder, flight, call);
        break;
    case DOES_RECEIVE_MATCHED:
    case DOES_POST_MATCHED:
        requests_hold_message(recorder, flight, call);
        break;
    case DOES_FREE_COMM:
        control_free_comm(recorder->layer, call);
        objects_begin_free(recorder, call, word, OBJECT_COMM);
        break;
    case DOES_FREE_WIN:
        objects_begin_free(recorder, call, word, OBJECT_WINDOW);
        break;
    case DOES_CLOSE_FILE:
        objects_begin_free(recorder, call, word, OBJECT_FILE);
        break;
    default:
        break;
    }
}

static void begin(struct recorder *recorder, const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = recorder->layer;
    const int number = call->function->number;
    recorder->is_mute = false;
    flights_learn_times(call); /* the first calls need not be recorded */
    if (flights_innermost(&recorder->flights))
        open_calls_end_left(recorder, word);
    const bool is_on = notice_switches(recorder) && layer->options.chosen[number];
    if (is_on)
        open_calls_all(recorder);
    struct flight *flight = flights_begin(&recorder->flights, word);
    if (!flight)
        return;
    flight->held = NULL;
    flight->number = recorder_number(
        number, is_on && layer->options.sites ? sites_find(recorder, call) : TRACE_NONE);
    flights_describe(flight, call, NULL);
    if (traits_all[number].action == DOES_CONTROL && control_before(recorder, call, flight, is_on))
        return;
    follow_begin(recorder, flight, call, word);
    if (!is_on)
        return;
    recorder_find_location(recorder); /* the call may be the only one, and not end */
    flights_publish_run(flight, call, word);
}

__attribute__((noinline)) static void begin_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct recorder *recorder = recorder_at(level, call->observer->data);
    if (recorder)
        begin(recorder, call, word);
    thread_level_leave(level);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* The recorder of this thread for a layer if it exists, and is not used by work that was
 * interrupted; else NULL. */
static inline struct recorder *idle_recorder(const struct layer *layer,
                                             const struct thread_level *level)
{
    const struct recorder_row *row = (const struct recorder_row *)level;
    return __builtin_expect(row && !level->busy, 1) ? row->by_layer[layer->tool_id] : NULL;
}

/* Whether a call is recorded in the usual way, in no other one. */
static inline bool begins_usually(const struct layer *layer, const struct recorder *recorder,
                                  const QMPIX_Call *call)
{
    return recorder && layer->ends[call->function->number] != END_OTHERWISE &&
           flights_are_none(&recorder->flights) &&
           recorder->switches == atomic_load_explicit(&layer->switches.state, memory_order_relaxed);
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct recorder *recorder = idle_recorder(layer, level);
    if (__builtin_expect(!begins_usually(layer, recorder, call), 0)) {
        begin_any(call, word);
        return;
    }
    thread_level_take(level, word);
    flights_run_first(&recorder->flights, call, word,
                      recorder_number(call->function->number, TRACE_NONE), NULL);
    thread_level_leave_first(level);
}

void observe_before_with_site(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct recorder *recorder = idle_recorder(layer, level);
    if (__builtin_expect(!begins_usually(layer, recorder, call), 0)) {
        begin_any(call, word);
        return;
    }
    thread_level_take(level, word);
    flights_run_first(&recorder->flights, call, word,
                      recorder_number(call->function->number, sites_find(recorder, call)), NULL);
    thread_level_leave_first(level);
}

/* Whether the call is the only one of the thread, and nothing has been recorded of it. To be asked
 * when the level is taken: before that, the handler of a signal may make calls. */
static inline bool ends_usually(const struct layer *layer, const struct recorder *recorder,
                                const QMPIX_Word *word)
{
    return flights_run_only(&recorder->flights, word) &&
           recorder->switches == atomic_load_explicit(&layer->switches.state, memory_order_relaxed);
}

void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct recorder *recorder = idle_recorder(layer, level);
    const unsigned char how = layer->ends[call->function->number];
    if (__builtin_expect(!recorder || how == END_OTHERWISE, 0)) {
        any_end(call, word);
        return;
    }
    thread_level_take(level, word);
    if (__builtin_expect(!ends_usually(layer, recorder, word), 0)) {
        thread_level_leave(level);
        any_end(call, word);
        return;
    }
    if (how != END_PLAIN) {
        if (how == END_COMM)
            usual_end_with_comm(call, word, recorder);
        else
            usual_end_message(call, word, recorder, how == END_SEND);
        return;
    }
    const uint64_t *times = flights_times(call);
    recorder_put(recorder, RAW_CALL, recorder->flights.first.number, times[0], times[1]);
    flights_end_first(&recorder->flights);
    thread_level_leave_first(level);
}
