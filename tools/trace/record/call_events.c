/* SPDX-License-Identifier: MIT */
/* See call_events.h. */
#include "tools/trace/record/call_events.h"

#include "tools/trace/record/objects.h"
#include "tools/trace/record/operation.h"

/* ---- Events within a call -------------------------------------------------------------------- */

struct transfers {
    struct recorder *recorder;
    struct trace_event event;
    int sending;
};

static void put_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct transfers *transfers = data;
    if (transfer->sending != transfers->sending)
        return;
    transfers->event.peer = recorder_peer(transfer->peer);
    transfers->event.tag = recorder_tag(transfer->tag);
    transfers->event.bytes = (uint64_t)transfer->bytes;
    recorder_put_event(transfers->recorder, &transfers->event);
}

static void put_messages(struct recorder *recorder, const QMPIX_Call *call, int sending,
                         uint32_t comm, uint64_t ticks)
{
    struct transfers transfers = {.recorder = recorder, .sending = sending};
    trace_event_clear(&transfers.event, sending ? TRACE_SEND : TRACE_RECV, ticks);
    transfers.event.comm = comm;
    QMPIX_Call_for_each_transfer(call, put_transfer, &transfers);
}

bool call_events_know_message(const struct recorder *recorder, const QMPIX_Call *call)
{
    return traits_of(call)->is_simple && argument_int(call, MESSAGE_PEER) >= 0 &&
           argument_int(call, MESSAGE_COUNT) >= 0 &&
           recorder->type_word == argument_word(call, MESSAGE_TYPE) &&
           recorder_is_last_comm(recorder, call, MESSAGE_COMM);
}

/* Records the message that a call sends. */
static void put_sent_message(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    struct trace_event event;
    if (!call_events_know_message(recorder, call)) {
        put_messages(recorder, call, 1, objects_find_comm(recorder, call, traits_of(call)->comm),
                     ticks);
        return;
    }
    trace_event_clear(&event, TRACE_SEND, ticks);
    event.comm = recorder->comm;
    event.peer = argument_int(call, MESSAGE_PEER);
    event.tag = recorder_tag(argument_int(call, MESSAGE_TAG));
    event.bytes = (uint64_t)argument_int(call, MESSAGE_COUNT) * recorder->type_size;
    recorder_put_event(recorder, &event);
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

static void put_begin_events(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    if (traits->tells_comm || traits->tells_file)
        put_call_object(recorder, call, ticks);
    switch (traits->action) {
    case DOES_SEND:
    case DOES_TRANSFER:
        put_sent_message(recorder, call, ticks);
        break;
    case DOES_COLLECTIVE:
        put_collective(recorder, call, TRACE_COLLECTIVE_BEGIN, ticks);
        break;
    case DOES_RMA:
        if (traits->request < 0 &&
            (objects_may_ask(recorder, call) ||
             objects_find_window(recorder, call, traits->window) != TRACE_NONE))
            operation_put_access(recorder, call, TRACE_NO_REQUEST, ticks);
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
        put_messages(recorder, call, 0, objects_find_comm(recorder, call, traits->comm), ticks);
        break;
    case DOES_RECEIVE_MATCHED:
        put_messages(recorder, call, 0, operation_message_comm(flight), ticks);
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
    recorder_put(recorder, RECORD_OPEN, flight->number, begin, 0);
    flights_publish_since(flight, FLIGHT_NOTED, begin);
    put_begin_events(recorder, flight->call, begin);
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
