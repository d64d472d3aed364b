/* SPDX-License-Identifier: MIT */
/* See operations.h. */
#include "record/operations.h"

#include "record/accesses.h"
#include "record/objects.h"
#include "record/requests.h"
#include "record/values.h"

static const struct traits *traits_of(const QMPIX_Call *call)
{
    return &traits_all[call->function->number];
}

/* ---- Blocking messages ----------------------------------------------------------------------- */

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
    transfers->event.peer = value_of_peer(transfer->peer);
    transfers->event.tag = value_of_tag(transfer->tag);
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

/* ---- Collectives ----------------------------------------------------------------------------- */

static void put_collective(struct recorder *recorder, const QMPIX_Call *call, enum trace_kind kind,
                           uint64_t ticks)
{
    struct trace_event event;
    int root;
    trace_event_clear(&event, kind, ticks);
    event.comm = objects_find_comm(recorder, call, traits_of(call)->comm);
    if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
        event.root = value_of_root(root);
    if (kind == TRACE_COLLECTIVE_END) {
        MPI_Count sent = 0, received = 0;
        QMPIX_Call_get_bytes(call, &sent, &received);
        event.bytes = (uint64_t)sent;
        event.received = (uint64_t)received;
    }
    recorder_put_event(recorder, &event);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void put_io(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    struct trace_event event;
    MPI_Count sent = 0, received = 0;
    QMPIX_Call_get_bytes(call, &sent, &received);
    trace_event_clear(&event, TRACE_IO, ticks);
    event.object = objects_file(recorder, call, traits_of(call)->file);
    event.bytes = (uint64_t)sent;
    event.received = (uint64_t)received;
    recorder_put_event(recorder, &event);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void put_object(struct recorder *recorder, enum trace_kind kind, uint32_t index,
                       uint64_t ticks)
{
    struct trace_event event;
    if (index == TRACE_NONE)
        return;
    trace_event_clear(&event, kind, ticks);
    if (kind == TRACE_COMM_CREATE)
        event.comm = index;
    else
        event.object = index;
    recorder_put_event(recorder, &event);
}

/* ---- A call ---------------------------------------------------------------------------------- */

/* What the call concerns, where nothing else tells it. */
static void put_call_object(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    struct trace_event event;
    trace_event_clear(&event, TRACE_CALL_OBJECT, ticks);
    if (traits->tells_comm)
        event.comm = objects_find_comm(recorder, call, traits->comm);
    if (traits->tells_file)
        event.object = objects_file(recorder, call, traits->file);
    if (event.comm != TRACE_NONE || event.object != TRACE_NONE)
        recorder_put_event(recorder, &event);
}

void operations_begin(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    if (traits->tells_comm || traits->tells_file)
        put_call_object(recorder, call, ticks);
    switch (traits->action) {
    case DOES_SEND:
    case DOES_TRANSFER:
        put_messages(recorder, call, 1, objects_find_comm(recorder, call, traits->comm), ticks);
        break;
    case DOES_COLLECTIVE:
        put_collective(recorder, call, TRACE_COLLECTIVE_BEGIN, ticks);
        break;
    case DOES_RMA:
        if (traits->request < 0)
            accesses_put(recorder, call, TRACE_NO_REQUEST, ticks);
        break;
    default:
        break;
    }
}

void operations_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                     uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_RMA:
        if (traits->request >= 0)
            requests_post(recorder, flight, call, ticks);
        break;
    case DOES_POST:
    case DOES_POST_MATCHED:
    case DOES_POST_COLLECTIVE:
    case DOES_POST_IO:
    case DOES_COPY_COMM:
        requests_post(recorder, flight, call, ticks);
        break;
    case DOES_START:
        requests_start(recorder, call, ticks);
        break;
    case DOES_INIT_MESSAGE:
    case DOES_INIT_OTHER:
        requests_init(recorder, call);
        break;
    case DOES_CANCEL:
        requests_cancel(recorder, call);
        break;
    case DOES_MATCH:
        requests_match(recorder, call);
        break;
    default:
        break;
    }
}

void operations_end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                    uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_RECEIVE:
    case DOES_TRANSFER:
        put_messages(recorder, call, 0, objects_find_comm(recorder, call, traits->comm), ticks);
        break;
    case DOES_RECEIVE_MATCHED:
        put_messages(recorder, call, 0, requests_message_comm(flight), ticks);
        break;
    case DOES_COLLECTIVE:
        put_collective(recorder, call, TRACE_COLLECTIVE_END, ticks);
        break;
    case DOES_IO:
        put_io(recorder, call, ticks);
        break;
    case DOES_CREATE_COMM:
        put_object(recorder, TRACE_COMM_CREATE,
                   objects_create_comm(recorder, call, traits->created), ticks);
        break;
    case DOES_CREATE_WIN:
        put_object(recorder, TRACE_WIN_CREATE,
                   objects_create_window(recorder, call, traits->created, traits->comm), ticks);
        break;
    case DOES_OPEN_FILE:
        put_object(recorder, TRACE_FILE_OPEN, objects_open_file(recorder, call), ticks);
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
