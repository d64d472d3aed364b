/* SPDX-License-Identifier: MIT */
/*
 * See observe.h. Most calls are recorded as a single record when they have returned, because the
 * clock readings, arguments and statuses are available then. Before a call, the thread only marks
 * it as in progress. This mark is needed if the call contains other calls, or does not return. The
 * callbacks distinguish usual calls from others before they change anything, and record usual calls
 * in few steps. All other calls go through begin_any and end_any, which use call_events.c. trace.c
 * says which files process the records afterwards.
 */
#include "tools/trace/record/observe.h"

#include "tools/trace/record/call_events.h"
#include "tools/trace/record/control.h"
#include "tools/trace/record/counters.h"
#include "tools/trace/record/objects.h"
#include "tools/trace/record/operation.h"
#include "tools/trace/record/recorder.h"

#include <string.h>

/* ---- Usual calls: which record suffices ------------------------------------------------------ */

/* The single record by which a usual call of a function is recorded when it ends: see
 * `single_records` of a layer. */
enum single_record {
    SINGLE_NONE,   /* end_any records the call, because a single record may not suffice */
    SINGLE_CALL,   /* the call */
    SINGLE_COMM,   /* the call and its communicator */
    SINGLE_SEND,   /* the call and the message that it sends */
    SINGLE_RECEIVE /* the call and the message that it receives */
};

static enum single_record choose_single_record(const struct traits *traits)
{
    switch (traits->action) {
    case DOES_NOTHING:
        return traits->tells_file ? SINGLE_NONE : traits->tells_comm ? SINGLE_COMM : SINGLE_CALL;
    case DOES_SEND:
        return traits->is_simple ? SINGLE_SEND : SINGLE_NONE;
    case DOES_RECEIVE:
        return traits->is_simple ? SINGLE_RECEIVE : SINGLE_NONE;
    default:
        return SINGLE_NONE;
    }
}

void observe_prepare(struct layer *layer)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum single_record how = layer->options.chosen[number] && !layer->options.counters
                                           ? choose_single_record(&traits_all[number])
                                           : SINGLE_NONE;
        layer->single_records[number] = (unsigned char)how;
        atomic_init(&layer->begins_shortly[number], how != SINGLE_NONE);
    }
}

static inline enum single_record single_record_of(const struct layer *layer, const QMPIX_Call *call)
{
    return (enum single_record)layer->single_records[call->function->number];
}

/*
 * Called when MPI has been initialized. With MPI_THREAD_MULTIPLE, MPICH holds a lock while it
 * carries out a call. The program may get control within the call, in an error handler, another
 * callback, or a signal handler. If it then makes a call that needs no lock, such as
 * MPI_Initialized, the outer call is opened, and its events are recorded. A query of the tool that
 * needs the lock would end the process or hang. So at this thread level, the outer call is prepared
 * when it begins (call_events_prepare), and MPI is not queried when it is opened within an inner
 * one.
 */
static void ask_early(struct layer *layer)
{
    int level = MPI_THREAD_MULTIPLE, finalized = 0;
    if (tool_world_is_open())
        PMPI_Query_thread(&level);
    PMPI_Finalized(&finalized); /* MPI must then not be queried: see begin_finalize in control.c */
    if (finalized || level != MPI_THREAD_MULTIPLE)
        return;
    atomic_store(&layer->asks_early, true);
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (traits_have_begin_events(&traits_all[number]))
            atomic_store_explicit(&layer->begins_shortly[number], false, memory_order_relaxed);
    }
}

/* ---- Any call -------------------------------------------------------------------------------- */

/* Follows objects and requests before a call, even if it is not recorded. */
static void follow_before(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                          const QMPIX_Word *word)
{
    switch (traits_of(call)->action) {
    case DOES_COMPLETE:
        operation_hold(recorder, flight, call);
        break;
    case DOES_FREE_REQUEST:
        operation_begin_free(recorder, flight, call);
        break;
    case DOES_RECEIVE_MATCHED:
    case DOES_POST_MATCHED:
        operation_begin_receive(recorder, flight, call);
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

static void begin_call(struct recorder *recorder, const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = recorder->layer;
    const int number = call->function->number;
    recorder->is_mute = false;
    flights_learn_times(call); /* done even for a call that is not recorded, because
                                  flights_run_first requires it for later ones */
    if (flights_innermost(&recorder->flights))
        call_events_end_left(recorder, word);
    const bool is_on = call_events_follow_switches(recorder) && layer->options.chosen[number];
    if (is_on)
        call_events_open_all(recorder);
    struct flight *flight = flights_begin(&recorder->flights, word);
    if (!flight)
        return;
    flight->held = NULL;
    flight->number = recorder_number(
        number, is_on && layer->options.sites ? objects_find_site(recorder, call) : TRACE_NONE);
    flights_describe(flight, call, NULL);
    if (traits_all[number].action == DOES_CONTROL && control_before(recorder, call, flight, is_on))
        return;
    follow_before(recorder, flight, call, word);
    if (is_on) {
        recorder_find_location(recorder); /* needed now, because the call may be the only one of its
                                             thread and may never end */
        flights_publish_run(flight, call, word);
        if (atomic_load_explicit(&layer->asks_early, memory_order_relaxed) &&
            traits_have_begin_events(traits_of(call)))
            call_events_prepare(recorder, flight);
    }
}

__attribute__((noinline)) static void begin_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct recorder *recorder = recorder_at(level, call->observer->data);
    if (recorder)
        begin_call(recorder, call, word);
    thread_level_leave(level);
}

static void end_free(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded,
                     enum trace_event_kind kind, uint64_t ticks)
{
    recorder_put_object(recorder, kind, objects_end_free(recorder, word, has_succeeded), ticks);
}

/* Follows objects and requests after a call, even if it is not recorded. */
static void follow_after(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                         const QMPIX_Word *word, bool has_succeeded, uint64_t end)
{
    if (has_succeeded)
        call_events_end(recorder, flight, call, end);
    switch (traits_of(call)->action) {
    case DOES_COMPLETE:
        operation_complete_held(recorder, flight, call, end);
        break;
    case DOES_FREE_REQUEST:
        operation_end_free(recorder, flight, has_succeeded, end);
        break;
    case DOES_RECEIVE_MATCHED:
    case DOES_POST_MATCHED:
        operation_end_receive(flight);
        break;
    case DOES_FREE_COMM:
        end_free(recorder, word, has_succeeded, TRACE_COMM_DESTROY, end);
        break;
    case DOES_FREE_WIN:
        end_free(recorder, word, has_succeeded, TRACE_WIN_DESTROY, end);
        break;
    case DOES_CLOSE_FILE:
        end_free(recorder, word, has_succeeded, TRACE_FILE_CLOSE, end);
        break;
    default:
        break;
    }
    if (has_succeeded && call->function->number == MPI_COMM_CREATE_FROM_GROUP_T)
        control_comm_created(recorder->layer, call);
}

/* Returns whether a single record of the call suffices. */
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
        return !control_has_events(traits);
    default:
        return !has_succeeded;
    }
}

/* Makes the records of a call that has returned. */
static void finish_call(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                        const QMPIX_Word *word)
{
    const struct traits *traits = traits_of(call);
    const bool has_succeeded = !traits->has_error || argument_result_is_success(call);
    const bool is_recorded = flight_state(flight->mark) >= FLIGHT_RUNS;
    uint64_t begin = 0, end = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    if (end < begin)
        end = begin;
    /* While recording is off, the stream has no open call that could be closed. */
    recorder->is_mute = !is_recorded || recorder->is_off;
    if (traits->action == DOES_COMPLETE && !recorder->is_mute &&
        flight_state(flight->mark) == FLIGHT_RUNS &&
        operation_put_tests(recorder, flight, call, (const uint64_t[]){begin, end}))
        return;
    if (recorder->is_mute || is_plain(flight, traits, has_succeeded)) {
        if (!recorder->is_mute)
            recorder_put(recorder, RECORD_CALL, flight->number, begin, end);
        recorder->is_mute = true; /* the call is closed, so no event can follow within it */
        if (has_succeeded)
            call_events_post(recorder, flight, call, begin);
        follow_after(recorder, flight, call, word, has_succeeded, end);
        if (traits->action == DOES_CONTROL)
            control_after(recorder, call, has_succeeded, end);
        return;
    }
    const bool was_open = flight_state(flight->mark) == FLIGHT_NOTED;
    call_events_open_all(recorder);
    if (has_succeeded)
        call_events_post(recorder, flight, call, was_open ? end : begin);
    follow_after(recorder, flight, call, word, has_succeeded, end);
    if (traits->action == DOES_CONTROL)
        control_after(recorder, call, has_succeeded, end);
    recorder_put(recorder, RECORD_CLOSE, flight->number, end, 0);
}

static void end_recorded_call(struct recorder *recorder, const QMPIX_Call *call,
                              const QMPIX_Word *word)
{
    struct flight *flight = flights_find(&recorder->flights, word);
    if (!flight)
        return;
    call_events_end_inner(recorder, flight);
    finish_call(recorder, flight, call, word);
    flights_end(&recorder->flights, word);
    recorder->is_mute = false;
    if (traits_of(call)->action == DOES_CONTROL) {
        control_end(recorder, call);
        if (control_begins_mpi(call))
            ask_early(recorder->layer);
    }
    if (call_events_follow_switches(recorder) && recorder->layer->options.counters)
        counters_sample(recorder, call);
}

/* Handles the end of any call, also of one that is not usual. */
__attribute__((noinline)) static void end_any(const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct recorder *recorder = recorder_at(level, call->observer->data);
    if (recorder)
        end_recorded_call(recorder, call, word);
    thread_level_leave(level);
}

/* ---- Usual calls ----------------------------------------------------------------------------- */

static inline uint32_t find_message_comm(struct recorder *recorder, const QMPIX_Call *call)
{
    return __builtin_expect(recorder_is_last_comm(recorder, call, MESSAGE_COMM), 1)
               ? recorder->comm
               : objects_find_comm(recorder, call, MESSAGE_COMM);
}

/* Sets *size to the size of a call's datatype, and stores the size in the recorder if the datatype
 * is predefined; the handles of others may be reused after they are freed. With a count of 0, sets
 * *size to 0, because the datatype may be invalid: the MPI library need not check it. Returns false
 * if MPI does not tell the size. */
__attribute__((noinline)) static bool recorder_type_size(struct recorder *recorder,
                                                         const QMPIX_Call *call, uint64_t *size)
{
    const MPI_Datatype type = argument_type(call, MESSAGE_TYPE);
    const uint64_t word = argument_word(call, MESSAGE_TYPE);
    MPI_Count bytes = 0;
    *size = 0;
    if (!argument_int(call, MESSAGE_COUNT))
        return true;
    if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return false;
    *size = (uint64_t)bytes;
    if (recorder->derived_word == word)
        return true;
    if (!argument_type_is_predefined(type)) {
        recorder->derived_word = word;
        return true;
    }
    recorder->type_word = 0;
    recorder->type_size = *size;
    recorder->type_word = word;
    return true;
}

/* Finds the peer and the tag in the status. Returns false if end_any must record the call. */
__attribute__((noinline)) static bool find_sender(const QMPIX_Call *call,
                                                  struct record_message *message)
{
    MPI_Status status;
    const int peer = argument_int(call, MESSAGE_PEER);
    if (peer == MPI_PROC_NULL || !argument_status_at(call, MESSAGE_STATUS, 0, &status))
        return false;
    message->peer = recorder_peer(status.MPI_SOURCE);
    message->tag = recorder_tag(status.MPI_TAG);
    return true;
}

/* Finds the message that a successful call has sent. Returns false if the call must be recorded by
 * end_any. */
static inline bool find_sent_message(struct recorder *recorder, const QMPIX_Call *call,
                                     struct record_message *message)
{
    const int peer = *(const int *)call->arguments[MESSAGE_PEER];
    uint64_t size = recorder->type_size;
    if (peer < 0 ||
        (__builtin_expect(recorder->type_word != argument_word(call, MESSAGE_TYPE), 0) &&
         !recorder_type_size(recorder, call, &size)))
        return false;
    message->bytes = (uint64_t) * (const int *)call->arguments[MESSAGE_COUNT] * size;
    message->comm = find_message_comm(recorder, call);
    message->peer = peer;
    message->tag = *(const int *)call->arguments[MESSAGE_TAG];
    message->unused = 0;
    return true;
}

/* Does the same for the message that a call has received. There is always a status: see
 * QMPIX_OBSERVE_STATUSES. */
static inline bool find_received_message(struct recorder *recorder, const QMPIX_Call *call,
                                         struct record_message *message)
{
    MPI_Count bytes;
    if (QMPIX_Call_get_status_bytes(call, MESSAGE_STATUS, 0, &bytes) != MPI_SUCCESS)
        return false;
    message->bytes = (uint64_t)bytes;
    message->comm = find_message_comm(recorder, call);
    message->peer = *(const int *)call->arguments[MESSAGE_PEER];
    message->tag = *(const int *)call->arguments[MESSAGE_TAG];
    message->unused = 0;
    return __builtin_expect(message->peer >= 0 && message->tag >= 0, 1) ||
           find_sender(call, message);
}

/*
 * The functions end_with_… record a usual call, which is the only call in progress in its thread,
 * as a single record. The caller has taken the level, and these functions leave it. They are not
 * inlined, so that the callbacks save no registers for them.
 */

__attribute__((noinline)) static void end_with_message(const QMPIX_Call *call, QMPIX_Word *word,
                                                       struct recorder *recorder, bool sends)
{
    struct thread_level *level = thread_level_current;
    struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    struct record_message dropped, *room = recorder_room(recorder, sizeof *room), *message = room;
    if (__builtin_expect(!room, 0))
        message = &dropped;
    const bool found = argument_result_is_success(call) &&
                       (sends ? find_sent_message(recorder, call, message)
                              : find_received_message(recorder, call, message));
    if (found) {
        message->head = (struct record_head){.ticks = times[0],
                                             .end = times[1],
                                             .site = recorder_site(flight->number),
                                             .function = recorder_function(flight->number),
                                             .kind = sends ? RECORD_SEND : RECORD_RECEIVE};
        if (__builtin_expect(room != NULL, 1))
            recorder_publish(recorder, sizeof *room);
        flights_end_first(&recorder->flights);
    }
    thread_level_leave_first(level);
    if (!found)
        end_any(call, word);
}

static inline void record_with_comm(const QMPIX_Call *call, struct recorder *recorder,
                                    struct record_head *head, uint32_t comm)
{
    const struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    *head = (struct record_head){.ticks = times[0],
                                 .end = times[1],
                                 .site = recorder_site(flight->number),
                                 .function = recorder_function(flight->number),
                                 .kind = RECORD_CALL,
                                 .event = (uint8_t)(comm + 1)};
    recorder_publish(recorder, sizeof *head);
    flights_end_first(&recorder->flights);
}

/* Does the same as end_with_comm if the communicator is not the one of the last call, its index
 * does not fit into the record, the call has failed, or the chunk is full. */
__attribute__((noinline)) static void end_with_other_comm(const QMPIX_Call *call, QMPIX_Word *word,
                                                          struct recorder *recorder)
{
    struct thread_level *level = thread_level_current;
    const int argument = traits_of(call)->comm;
    const uint32_t comm =
        argument_result_is_success(call) ? objects_find_comm(recorder, call, argument) : TRACE_NONE;
    const bool is_short = comm < UINT8_MAX || comm == TRACE_NONE;
    struct record_head *head = is_short ? recorder_room(recorder, sizeof *head) : NULL;
    if (head)
        record_with_comm(call, recorder, head, comm);
    else if (is_short)
        flights_end_first(&recorder->flights); /* there is no room, so the call is lost */
    thread_level_leave_first(level);
    if (!is_short)
        end_any(call, word);
}

__attribute__((noinline)) static void end_with_comm(const QMPIX_Call *call, QMPIX_Word *word,
                                                    struct recorder *recorder)
{
    struct record_chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    const int argument = traits_of(call)->comm;
    if (__builtin_expect(!recorder_is_last_comm(recorder, call, argument) ||
                             recorder->comm >= UINT8_MAX || !argument_result_is_success(call) ||
                             (size_t)(chunk->end - at) < sizeof(struct record_head),
                         0)) {
        end_with_other_comm(call, word, recorder);
        return;
    }
    record_with_comm(call, recorder, (struct record_head *)(void *)at, recorder->comm);
    thread_level_leave_first(thread_level_current);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Returns the recorder of this thread for a layer. Returns NULL if there is none, or if this call
 * has interrupted work that uses it. */
static inline struct recorder *find_idle_recorder(const struct layer *layer,
                                                  const struct thread_level *level)
{
    const struct recorder_row *row = (const struct recorder_row *)level;
    return __builtin_expect(row && !level->busy, 1) ? row->by_layer[layer->tool_id] : NULL;
}

/* Returns whether recording is on, and a call can be recorded as a single record, needs no
 * preparation and is not within another call. */
static inline bool begins_usually(const struct layer *layer, const struct recorder *recorder,
                                  const QMPIX_Call *call)
{
    return recorder &&
           atomic_load_explicit(&layer->begins_shortly[call->function->number],
                                memory_order_relaxed) &&
           flights_are_none(&recorder->flights) &&
           recorder->switches == atomic_load_explicit(&layer->switches.state, memory_order_relaxed);
}

static inline __attribute__((always_inline)) void begin_observed(const QMPIX_Call *call,
                                                                 QMPIX_Word *word, bool with_site)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct recorder *recorder = find_idle_recorder(layer, level);
    if (__builtin_expect(!begins_usually(layer, recorder, call), 0)) {
        begin_any(call, word);
        return;
    }
    thread_level_take(level, word);
    const uint32_t site = with_site ? objects_find_site(recorder, call) : TRACE_NONE;
    flights_run_first(&recorder->flights, call, word, recorder_number(call->function->number, site),
                      NULL);
    thread_level_leave_first(level);
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    begin_observed(call, word, false);
}

void observe_before_with_site(const QMPIX_Call *call, QMPIX_Word *word)
{
    begin_observed(call, word, true);
}

/* Returns whether the call is the only one in progress in the thread, nothing about it was recorded
 * yet, and recording is on. The level must be taken first, because until then, a signal handler may
 * make calls that use the same recorder. */
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
    struct recorder *recorder = find_idle_recorder(layer, level);
    const enum single_record how = single_record_of(layer, call);
    if (__builtin_expect(!recorder || how == SINGLE_NONE, 0)) {
        end_any(call, word);
        return;
    }
    thread_level_take(level, word);
    if (__builtin_expect(!ends_usually(layer, recorder, word), 0)) {
        thread_level_leave(level);
        end_any(call, word);
        return;
    }
    if (how != SINGLE_CALL) {
        if (how == SINGLE_COMM)
            end_with_comm(call, word, recorder);
        else
            end_with_message(call, word, recorder, how == SINGLE_SEND);
        return;
    }
    const uint64_t *times = flights_times(call);
    recorder_put(recorder, RECORD_CALL, recorder->flights.first.number, times[0], times[1]);
    flights_end_first(&recorder->flights);
    thread_level_leave_first(level);
}
