/* SPDX-License-Identifier: MIT */
/*
 * See observe.h. Most calls are one record, which is made when they have returned: then the clock
 * readings, the arguments and the statuses are there. Before a call, it is only noted that it is in
 * progress, for calls within it and for the case that it does not return. The callbacks tell the
 * usual calls apart before anything is changed, and record them without a function call.
 */
#include "record/observe.h"

#include "record/control.h"
#include "record/counters.h"
#include "record/message.h"
#include "record/notice.h"
#include "record/objects.h"
#include "record/open_calls.h"
#include "record/operations.h"
#include "record/recorder.h"
#include "record/requests.h"
#include "record/sites.h"

#include <string.h>

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

static uint32_t freed_object(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded,
                             const struct traits *traits, enum trace_kind *kind)
{
    switch (traits->action) {
    case DOES_FREE_COMM:
        *kind = TRACE_COMM_DESTROY;
        break;
    case DOES_FREE_WIN:
        *kind = TRACE_WIN_DESTROY;
        break;
    case DOES_CLOSE_FILE:
        *kind = TRACE_FILE_CLOSE;
        break;
    default:
        return TRACE_NONE;
    }
    return objects_end_free(recorder, word, has_succeeded);
}

/* What a call did, of a flight that is in progress. Whether it is recorded or not, it is followed.
 */
static void end_actions(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                        const QMPIX_Word *word, bool has_succeeded, uint64_t end)
{
    const struct traits *traits = &traits_all[call->function->number];
    struct trace_event event;
    enum trace_kind kind = TRACE_COMM_DESTROY;
    if (has_succeeded)
        operations_end(recorder, flight, call, end);
    if (traits->action == DOES_COMPLETE)
        requests_complete(recorder, flight, call, end);
    else if (traits->action == DOES_FREE_REQUEST)
        requests_end_free(recorder, flight, has_succeeded, end);
    else if (traits->action == DOES_RECEIVE_MATCHED || traits->action == DOES_POST_MATCHED)
        requests_end_message(flight);
    if (has_succeeded && call->function->number == MPI_COMM_CREATE_FROM_GROUP_T)
        control_comm_created(recorder->layer, call);
    const uint32_t freed = freed_object(recorder, word, has_succeeded, traits, &kind);
    if (freed != TRACE_NONE) {
        trace_event_clear(&event, kind, end);
        if (kind == TRACE_COMM_DESTROY)
            event.comm = freed;
        else
            event.object = freed;
        recorder_put_event(recorder, &event);
    }
}

/* Whether the record of a call tells all that is to be recorded of it. */
static bool is_plain(const struct flight *flight, const struct traits *traits, bool has_succeeded)
{
    if (flight_state(flight->mark) == FLIGHT_NOTED ||
        (has_succeeded && (traits->tells_comm || traits->tells_file)))
        return false;
    switch (traits->action) {
    case DOES_NOTHING:
    case DOES_INIT_MESSAGE:
    case DOES_INIT_OTHER:
    case DOES_CANCEL:
    case DOES_MATCH:
    case DOES_NAME_COMM:
    case DOES_NAME_WIN:
        return true;
    case DOES_COMPLETE:
    case DOES_FREE_REQUEST:
        return !flight->held;
    case DOES_CONTROL:
        return !control_tells(traits);
    default:
        return !has_succeeded;
    }
}

static void end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                const QMPIX_Word *word)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool has_succeeded = !traits->has_error || argument_result_is_success(call);
    const bool is_recorded = flight_state(flight->mark) >= FLIGHT_RUNS;
    uint64_t begin = 0, end = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    if (end < begin)
        end = begin;
    /* While it is off, the stream has no open calls. */
    recorder->is_mute = !is_recorded || recorder->is_off;
    if (traits->action == DOES_COMPLETE && !recorder->is_mute &&
        flight_state(flight->mark) == FLIGHT_RUNS &&
        requests_put_tested(recorder, flight, call, (const uint64_t[]){begin, end}))
        return;
    if (recorder->is_mute || is_plain(flight, traits, has_succeeded)) {
        if (!recorder->is_mute)
            recorder_put(recorder, RAW_CALL, flight->number, begin, end);
        recorder->is_mute = true; /* what follows has no place in the stream */
        if (has_succeeded)
            operations_post(recorder, flight, call, begin);
        end_actions(recorder, flight, call, word, has_succeeded, end);
        if (traits->action == DOES_CONTROL)
            control_after(recorder, call, has_succeeded, end);
        return;
    }
    const bool was_open = flight_state(flight->mark) == FLIGHT_NOTED;
    open_calls_all(recorder);
    if (has_succeeded)
        operations_post(recorder, flight, call, was_open ? end : begin);
    end_actions(recorder, flight, call, word, has_succeeded, end);
    if (traits->action == DOES_CONTROL)
        control_after(recorder, call, has_succeeded, end);
    recorder_put(recorder, RAW_CLOSE, flight->number, end, 0);
}

static void end_call(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct flight *flight = flights_find(&recorder->flights, word);
    if (!flight)
        return;
    open_calls_end_inner(recorder, flight);
    end(recorder, flight, call, word);
    flights_end(&recorder->flights, word);
    recorder->is_mute = false;
    if (traits_all[call->function->number].action == DOES_CONTROL)
        control_end(recorder, call);
    if (notice_switches(recorder) && recorder->layer->options.counters)
        counters_sample(recorder, call);
}

__attribute__((noinline)) static void end_any(const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct recorder *recorder = recorder_at(level, call->observer->data);
    if (recorder)
        end_call(recorder, call, word);
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

/* Of a call that sends or receives one message. The level is taken. */
__attribute__((noinline)) static void end_message(const QMPIX_Call *call, QMPIX_Word *word,
                                                  struct recorder *recorder, bool sends)
{
    struct thread_level *level = thread_level_current;
    struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    struct raw_message none, *raw = recorder_room(recorder, sizeof *raw), *message = raw;
    if (__builtin_expect(!message, 0))
        message = &none; /* it is dropped */
    const bool found = argument_result_is_success(call) &&
                       (sends ? message_find_sent(recorder, call, message)
                              : message_find_received(recorder, call, message));
    if (found) {
        message->head = (struct raw_head){.ticks = times[0],
                                          .end = times[1],
                                          .site = recorder_site(flight->number),
                                          .function = recorder_function(flight->number),
                                          .kind = sends ? RAW_SEND : RAW_RECEIVE};
        if (__builtin_expect(raw != NULL, 1))
            recorder_publish(recorder, sizeof *raw);
        flights_end_first(&recorder->flights);
    }
    thread_level_leave_first(level);
    if (!found)
        end_any(call, word);
}

static inline void put_with_comm(const QMPIX_Call *call, struct recorder *recorder,
                                 struct raw_head *head, uint32_t comm)
{
    const struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    *head = (struct raw_head){.ticks = times[0],
                              .end = times[1],
                              .site = recorder_site(flight->number),
                              .function = recorder_function(flight->number),
                              .kind = RAW_CALL,
                              .event = (uint8_t)(comm + 1)};
    recorder_publish(recorder, sizeof *head);
    flights_end_first(&recorder->flights);
}

/* The communicator is another one than that of the last call, the call has failed, or the chunk is
 * full. */
__attribute__((noinline)) static void end_with_other_comm(const QMPIX_Call *call, QMPIX_Word *word,
                                                          struct recorder *recorder)
{
    struct thread_level *level = thread_level_current;
    const int argument = traits_all[call->function->number].comm;
    const uint32_t comm =
        argument_result_is_success(call) ? objects_find_comm(recorder, call, argument) : TRACE_NONE;
    const bool is_short = comm < UINT8_MAX || comm == TRACE_NONE;
    struct raw_head *head = is_short ? recorder_room(recorder, sizeof *head) : NULL;
    if (head)
        put_with_comm(call, recorder, head, comm);
    else if (is_short)
        flights_end_first(&recorder->flights); /* it is dropped */
    thread_level_leave_first(level);
    if (!is_short)
        end_any(call, word);
}

/* Of a call whose communicator is told. The level is taken. */
__attribute__((noinline)) static void end_with_comm(const QMPIX_Call *call, QMPIX_Word *word,
                                                    struct recorder *recorder)
{
    struct chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    const int argument = traits_all[call->function->number].comm;
    if (__builtin_expect(!message_is_last_comm(recorder, call, argument) ||
                             recorder->comm >= UINT8_MAX || !argument_result_is_success(call) ||
                             (size_t)(chunk->end - at) < sizeof(struct raw_head),
                         0)) {
        end_with_other_comm(call, word, recorder);
        return;
    }
    put_with_comm(call, recorder, (struct raw_head *)(void *)at, recorder->comm);
    thread_level_leave_first(thread_level_current);
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
        end_any(call, word);
        return;
    }
    thread_level_take(level, word);
    if (__builtin_expect(!ends_usually(layer, recorder, word), 0)) {
        thread_level_leave(level);
        end_any(call, word);
        return;
    }
    if (how != END_PLAIN) {
        if (how == END_COMM)
            end_with_comm(call, word, recorder);
        else
            end_message(call, word, recorder, how == END_SEND);
        return;
    }
    const uint64_t *times = flights_times(call);
    recorder_put(recorder, RAW_CALL, recorder->flights.first.number, times[0], times[1]);
    flights_end_first(&recorder->flights);
    thread_level_leave_first(level);
}
