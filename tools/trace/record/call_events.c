/* SPDX-License-Identifier: MIT */
/* See call_events.h. */
#include "tools/trace/record/call_events.h"

#include "tools/trace/record/objects.h"
#include "tools/trace/record/operation.h"

/* ---- Events within a call -------------------------------------------------------------------- */

struct received_messages {
    struct recorder *recorder;
    struct trace_event event;
};

static void put_received_message(void *data, const QMPIX_Transfer *transfer)
{
    struct received_messages *messages = data;
    if (transfer->sending)
        return;
    messages->event.peer = recorder_peer(transfer->peer);
    messages->event.tag = recorder_tag(transfer->tag);
    messages->event.bytes = (uint64_t)transfer->bytes;
    recorder_put_event(messages->recorder, &messages->event);
}

static void put_received_messages(struct recorder *recorder, const QMPIX_Call *call, uint32_t comm,
                                  uint64_t ticks)
{
    struct received_messages messages = {.recorder = recorder};
    trace_event_clear(&messages.event, TRACE_RECV, ticks);
    messages.event.comm = comm;
    QMPIX_Call_for_each_transfer(call, put_received_message, &messages);
}

/* Returns whether the message that a call sends is known without queries of MPI, because its
 * datatype and communicator are those of the last such call of the recorder. */
static bool knows_message(const struct recorder *recorder, const QMPIX_Call *call)
{
    return traits_of(call)->is_simple && argument_int(call, MESSAGE_PEER) >= 0 &&
           argument_int(call, MESSAGE_COUNT) >= 0 &&
           recorder->type_word == argument_word(call, MESSAGE_TYPE) &&
           recorder_is_last_comm(recorder, call, MESSAGE_COMM);
}

static void describe_known_message(const struct recorder *recorder, const QMPIX_Call *call,
                                   struct trace_event *event)
{
    event->comm = recorder->comm;
    event->peer = argument_int(call, MESSAGE_PEER);
    event->tag = recorder_tag(argument_int(call, MESSAGE_TAG));
    event->bytes = (uint64_t)argument_int(call, MESSAGE_COUNT) * recorder->type_size;
}

struct sent_message {
    struct trace_event *event;
    bool is_found;
};

static void note_sent_message(void *data, const QMPIX_Transfer *transfer)
{
    struct sent_message *message = data;
    if (!transfer->sending)
        return;
    message->event->peer = recorder_peer(transfer->peer);
    message->event->tag = recorder_tag(transfer->tag);
    message->event->bytes = (uint64_t)transfer->bytes;
    message->is_found = true;
}

/* Describes the message that a call sends. Returns false if it sends none. */
static bool describe_sent_message(struct recorder *recorder, const QMPIX_Call *call,
                                  struct trace_event *event)
{
    struct sent_message message = {.event = event};
    event->comm = objects_find_comm(recorder, call, traits_of(call)->comm);
    QMPIX_Call_for_each_transfer(call, note_sent_message, &message);
    return message.is_found;
}

/* Describes the message that a call sends, or its access to a window: the event at its beginning
 * for which MPI must be queried. Returns false if there is none. */
static bool describe_begin(struct recorder *recorder, const QMPIX_Call *call,
                           struct trace_event *event)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_SEND:
    case DOES_TRANSFER:
        trace_event_clear(event, TRACE_SEND, 0);
        return describe_sent_message(recorder, call, event);
    case DOES_RMA:
        if (traits->request >= 0)
            return false;
        operation_describe_access(recorder, call, TRACE_NO_REQUEST, 0, event);
        return true;
    default:
        return false;
    }
}

void call_events_prepare(struct recorder *recorder, const struct flight *flight)
{
    const QMPIX_Call *call = flight->call;
    const int comm = traits_of(call)->comm;
    if (comm >= 0)
        objects_prepare_comm(recorder, call, comm);
    recorder->prepared = NULL;
    if (knows_message(recorder, call))
        return;
    recorder->has_prepared_event = describe_begin(recorder, call, &recorder->prepared_event);
    recorder->prepared_mark = flight->mark;
    recorder->prepared = flight;
}

static void put_collective(struct recorder *recorder, const QMPIX_Call *call,
                           enum trace_event_kind kind, uint64_t ticks)
{
    struct trace_event event;
    int root;
    trace_event_clear(&event, kind, ticks);
    event.comm = objects_find_comm(recorder, call, traits_of(call)->comm);
    if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
        event.root = recorder_root(root);
    if (kind == TRACE_COLLECTIVE_END) {
        MPI_Count sent = 0, received = 0;
        QMPIX_Call_get_bytes(call, &sent, &received);
        event.bytes = (uint64_t)sent;
        event.received = (uint64_t)received;
    }
    recorder_put_event(recorder, &event);
}

static void put_io(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    struct trace_event event;
    MPI_Count sent = 0, received = 0;
    QMPIX_Call_get_bytes(call, &sent, &received);
    trace_event_clear(&event, TRACE_IO, ticks);
    event.object = objects_find_file(recorder, call, traits_of(call)->file);
    event.bytes = (uint64_t)sent;
    event.received = (uint64_t)received;
    recorder_put_event(recorder, &event);
}

/* Records the communicator or file of a call if no other event of the call contains it. */
static void put_call_object(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    struct trace_event event;
    trace_event_clear(&event, TRACE_CALL_OBJECT, ticks);
    if (traits->tells_comm)
        event.comm = objects_find_comm(recorder, call, traits->comm);
    if (traits->tells_file)
        event.object = objects_find_file(recorder, call, traits->file);
    if (event.comm != TRACE_NONE || event.object != TRACE_NONE)
        recorder_put_event(recorder, &event);
}

/* Records the message or the access at the beginning of a call, which was prepared or not. */
static void put_begin(struct recorder *recorder, const QMPIX_Call *call, bool is_prepared,
                      uint64_t ticks)
{
    struct trace_event event;
    bool has_event;
    if (is_prepared) {
        event = recorder->prepared_event;
        has_event = recorder->has_prepared_event;
    } else if (knows_message(recorder, call)) {
        trace_event_clear(&event, TRACE_SEND, ticks);
        describe_known_message(recorder, call, &event);
        has_event = true;
    } else {
        has_event = objects_may_ask(recorder, call) && describe_begin(recorder, call, &event);
    }
    if (!has_event)
        return;
    event.ticks = ticks;
    recorder_put_event(recorder, &event);
}

static void put_begin_events(struct recorder *recorder, const QMPIX_Call *call, bool is_prepared,
                             uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    if (traits->tells_comm || traits->tells_file)
        put_call_object(recorder, call, ticks);
    switch (traits->action) {
    case DOES_SEND:
    case DOES_TRANSFER:
    case DOES_RMA:
        put_begin(recorder, call, is_prepared, ticks);
        break;
    case DOES_COLLECTIVE:
        put_collective(recorder, call, TRACE_COLLECTIVE_BEGIN, ticks);
        break;
    default:
        break;
    }
}

void call_events_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                      uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_RMA:
        if (traits->request >= 0)
            operation_post(recorder, flight, call, ticks);
        break;
    case DOES_POST:
    case DOES_POST_MATCHED:
    case DOES_POST_COLLECTIVE:
    case DOES_POST_IO:
    case DOES_COPY_COMM:
        operation_post(recorder, flight, call, ticks);
        break;
    case DOES_START:
        operation_start(recorder, call, ticks);
        break;
    case DOES_INIT_MESSAGE:
    case DOES_INIT_OTHER:
        operation_init(recorder, call);
        break;
    case DOES_CANCEL:
        operation_cancel(recorder, call);
        break;
    case DOES_MATCH:
        operation_match_message(recorder, call);
        break;
    default:
        break;
    }
}

void call_events_end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                     uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_RECEIVE:
    case DOES_TRANSFER:
        put_received_messages(recorder, call, objects_find_comm(recorder, call, traits->comm),
                              ticks);
        break;
    case DOES_RECEIVE_MATCHED:
        put_received_messages(recorder, call, operation_message_comm(flight), ticks);
        break;
    case DOES_COLLECTIVE:
        put_collective(recorder, call, TRACE_COLLECTIVE_END, ticks);
        break;
    case DOES_IO:
        put_io(recorder, call, ticks);
        break;
    case DOES_CREATE_COMM:
        recorder_put_object(recorder, TRACE_COMM_CREATE,
                            objects_create_comm(recorder, call, traits->created), ticks);
        break;
    case DOES_CREATE_WIN:
        recorder_put_object(recorder, TRACE_WIN_CREATE,
                            objects_create_window(recorder, call, traits->created, traits->comm),
                            ticks);
        break;
    case DOES_OPEN_FILE:
        recorder_put_object(recorder, TRACE_FILE_OPEN, objects_open_file(recorder, call), ticks);
        break;
    case DOES_NAME_COMM:
        objects_name_comm(recorder, call);
        break;
    case DOES_NAME_WIN:
        objects_name_window(recorder, call);
        break;
    default:
        break;
    }
}

/* ---- Open calls ------------------------------------------------------------------------------ */

void call_events_open(struct recorder *recorder, struct flight *flight)
{
    if (flight_state(flight->mark) != FLIGHT_RUNS)
        return;
    uint64_t begin = *flights_times(flight->call);
    if (!begin)
        begin = ticks_now(); /* a layer has made a call before this one is carried out */
    const bool is_prepared = !flight->call->result && recorder->prepared == flight &&
                             recorder->prepared_mark == flight->mark;
    recorder_put(recorder, RECORD_OPEN, flight->number, begin, 0);
    flights_publish_since(flight, FLIGHT_NOTED, begin);
    put_begin_events(recorder, flight->call, is_prepared, begin);
}

void call_events_open_all(struct recorder *recorder)
{
    struct flight *flight = &recorder->flights.first;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner)
        call_events_open(recorder, flight);
}

/* Opens a call that was left. Its stack frame may have been overwritten, and with it the time of
 * its beginning; then, the call begins now. */
static void open_left_call(struct recorder *recorder, struct flight *flight, uint64_t now)
{
    uint64_t begin = 0;
    if (flight_state(flight->mark) != FLIGHT_RUNS)
        return;
    if (flight_is_overwritten(flight, flight->word) ||
        !tool_safe_copy(&begin, flights_times(flight->call), sizeof begin) || !begin || begin > now)
        begin = now;
    recorder_put(recorder, RECORD_OPEN, flight->number, begin, 0);
    flights_publish_since(flight, FLIGHT_NOTED, begin);
}

/* Ends the calls that were left. `last` is the innermost call that was not left, or NULL if all
 * were left. */
static void end_left_calls(struct recorder *recorder, const struct flight *last)
{
    const uint64_t now = ticks_now();
    struct flight *flight = &recorder->flights.first;
    bool is_left = !last;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner) {
        if (is_left)
            open_left_call(recorder, flight, now);
        else
            call_events_open(recorder, flight);
        is_left |= flight == last;
    }
    while ((flight = flights_innermost(&recorder->flights)) && flight != last) {
        if (flight_state(flight->mark) == FLIGHT_NOTED)
            recorder_put(recorder, RECORD_LEFT, flight->number, now, 0);
        flights_pop(&recorder->flights, flight);
    }
}

void call_events_end_left(struct recorder *recorder, const QMPIX_Word *word)
{
    struct flight *innermost = flights_innermost(&recorder->flights), *last = innermost;
    while (last && flight_was_left(last, word))
        last = last->outer;
    if (last != innermost)
        end_left_calls(recorder, last);
}

void call_events_end_inner(struct recorder *recorder, const struct flight *last)
{
    if (flights_innermost(&recorder->flights) != last)
        end_left_calls(recorder, last);
}

/* ---- Switching on and off -------------------------------------------------------------------- */

static void put_switch_event(struct recorder *recorder, enum trace_event_kind kind, uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, kind, ticks);
    recorder_put_event(recorder, &event);
}

bool call_events_follow_change(struct recorder *recorder)
{
    const struct layer_switches *switches = &recorder->layer->switches;
    const uint64_t state = atomic_load(&switches->state);
    const bool is_on = state & 1, is_mute = recorder->is_mute;
    if (!is_on && switches->off & LAYER_OFF_CLOSED) {
        recorder->switches = 0;
        recorder->is_off = true;
        return false;
    }
    recorder->is_mute = false;
    if (recorder->state & 1) {
        call_events_open_all(recorder);
        put_switch_event(recorder, TRACE_OFF, switches->ticks[0]);
        recorder->is_off = true;
    }
    if (is_on && recorder->is_off) {
        const uint64_t since = switches->ticks[1];
        put_switch_event(recorder, TRACE_ON, since);
        recorder->is_off = false;
        struct flight *flight = &recorder->flights.first;
        for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner) {
            if (flight_state(flight->mark) == FLIGHT_NOTED)
                recorder_put(recorder, RECORD_OPEN, flight->number, since, 0);
        }
    }
    recorder->is_mute = is_mute;
    recorder->state = state;
    recorder->switches = is_on ? state : 0;
    return is_on;
}
