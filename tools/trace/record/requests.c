/* SPDX-License-Identifier: MIT */
/* See requests.h: operations that begin. */
#include "record/requests.h"

#include "record/accesses.h"
#include "record/objects.h"
#include "record/recorder.h"
#include "record/values.h"

#include <string.h>

static const struct traits *traits_of(const QMPIX_Call *call)
{
    return &traits_all[call->function->number];
}

/* ---- Entries --------------------------------------------------------------------------------- */

static struct operation *add(struct recorder *recorder, uint64_t handle, enum operation_kind kind)
{
    struct layer *layer = recorder->layer;
    struct operation *operation = (struct operation *)pending_take(&layer->operations, handle);
    if (!operation)
        return NULL; /* memory is exhausted: its completion is not seen */
    const struct pending pending = operation->pending;
    *operation = (struct operation){.pending = pending,
                                    .kind = kind,
                                    .is_active = true,
                                    .is_recorded = !recorder->is_mute,
                                    .order = atomic_fetch_add(&layer->operation_order, 1),
                                    .epoch = atomic_load(&layer->epoch),
                                    .request = recorder_new_request(recorder),
                                    .second = TRACE_NO_REQUEST,
                                    .comm = TRACE_NONE,
                                    .object = TRACE_NONE,
                                    .peer = TRACE_UNDEFINED,
                                    .tag = TRACE_UNDEFINED,
                                    .root = TRACE_UNDEFINED};
    return operation;
}

static uint64_t handle_of(const QMPIX_Call *call)
{
    return argument_element_word(call, traits_of(call)->request, 0);
}

/* The oldest operation with this handle that no call holds; NULL: none is known. Those whose
 * completion may have been missed are forgotten. */
static struct operation *find(struct layer *layer, uint64_t handle)
{
    const uint64_t epoch = atomic_load(&layer->epoch);
    struct operation *found = NULL;
    struct pending *pending = NULL;
    while ((pending = pending_find(&layer->operations, handle, pending))) {
        struct operation *operation = (struct operation *)pending;
        if (operation->epoch != epoch && operation->is_active) {
            operation->is_active = false;
            if (!operation->is_persistent) {
                pending_drop(pending);
                continue;
            }
        }
        if (!found || operation->order < found->order)
            found = operation;
    }
    return found;
}

void requests_lose(struct layer *layer)
{
    atomic_fetch_add(&layer->epoch, 1);
}

/* ---- What is started ------------------------------------------------------------------------- */

/* Says that the operation has begun. */
static void put_begin(struct recorder *recorder, const struct operation *operation, uint64_t ticks)
{
    static const enum trace_kind kinds[] = {
        [OPERATION_SEND] = TRACE_ISEND,    [OPERATION_RECEIVE] = TRACE_IRECV_REQUEST,
        [OPERATION_BOTH] = TRACE_ISEND,    [OPERATION_COLLECTIVE] = TRACE_ICOLLECTIVE_REQUEST,
        [OPERATION_IO] = TRACE_IO_REQUEST,
    };
    struct trace_event event;
    if (operation->kind > OPERATION_IO || operation->kind == OPERATION_RMA)
        return;
    trace_event_clear(&event, kinds[operation->kind], ticks);
    event.request = operation->request;
    event.comm = operation->comm;
    event.object = operation->object;
    event.root = operation->root;
    event.peer = operation->peer;
    event.tag = operation->tag;
    event.bytes = operation->bytes;
    if (operation->kind == OPERATION_BOTH) {
        event.peer = operation->send_peer;
        event.tag = operation->send_tag;
        recorder_put_event(recorder, &event);
        trace_event_clear(&event, TRACE_IRECV_REQUEST, ticks);
        event.request = operation->second;
        event.comm = operation->comm;
        event.peer = operation->peer;
        event.tag = operation->tag;
        event.bytes = operation->received;
    }
    recorder_put_event(recorder, &event);
}

static void note_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct operation *operation = data;
    if (operation->kind == OPERATION_BOTH && transfer->sending) {
        operation->send_peer = value_of_peer(transfer->peer);
        operation->send_tag = value_of_tag(transfer->tag);
        operation->bytes = (uint64_t)transfer->bytes;
        return;
    }
    operation->peer = value_of_peer(transfer->peer);
    operation->tag = value_of_tag(transfer->tag);
    if (operation->kind == OPERATION_BOTH)
        operation->received = (uint64_t)transfer->bytes;
    else
        operation->bytes = (uint64_t)transfer->bytes;
}

static enum operation_kind kind_of(const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    switch (traits->action) {
    case DOES_POST_COLLECTIVE:
        return OPERATION_COLLECTIVE;
    case DOES_RMA:
        return OPERATION_RMA;
    case DOES_POST_IO:
        return OPERATION_IO;
    case DOES_COPY_COMM:
        return OPERATION_COPY_COMM;
    default:
        break;
    }
    if (!strncmp(call->function->name, "MPI_Isendrecv", 13))
        return OPERATION_BOTH;
    return traits->sends ? OPERATION_SEND : OPERATION_RECEIVE;
}

static void note_collective(struct operation *operation, const QMPIX_Call *call)
{
    MPI_Count sent = 0, received = 0;
    int root;
    if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
        operation->root = value_of_root(root);
    QMPIX_Call_get_bytes(call, &sent, &received);
    operation->bytes = (uint64_t)sent;
    operation->received = (uint64_t)received;
}

static void describe(struct recorder *recorder, struct operation *operation,
                     const struct flight *flight, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    operation->function = (uint16_t)call->function->number;
    if (traits->comm >= 0)
        operation->comm = objects_find_comm(recorder, call, traits->comm);
    else if (traits->action == DOES_POST_MATCHED)
        operation->comm = requests_message_comm(flight);
    switch (operation->kind) {
    case OPERATION_BOTH:
        operation->second = recorder_new_request(recorder);
        /* fall through */
    case OPERATION_SEND:
    case OPERATION_RECEIVE:
        QMPIX_Call_for_each_transfer(call, note_transfer, operation);
        break;
    case OPERATION_COLLECTIVE:
        note_collective(operation, call);
        break;
    case OPERATION_IO:
        operation->object = objects_file(recorder, call, traits->file);
        operation->reads = traits->reads;
        break;
    case OPERATION_COPY_COMM:
        operation->created = argument_address(call, traits->created);
        break;
    default:
        break;
    }
}

void requests_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                   uint64_t ticks)
{
    const uint64_t handle = handle_of(call);
    struct operation *operation = add(recorder, handle, kind_of(call));
    if (!operation)
        return;
    describe(recorder, operation, flight, call);
    if (operation->kind == OPERATION_RMA)
        accesses_put(recorder, call, operation->request, ticks);
    else
        put_begin(recorder, operation, ticks);
    pending_publish(&operation->pending, handle);
}

/* ---- Persistent requests --------------------------------------------------------------------- */

static uint64_t size_of(const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    const int partitions = traits->partitions < 0 ? 1 : argument_int(call, traits->partitions);
    MPI_Count size = 0;
    if (traits->elements < 0 || traits->type < 0)
        return 0;
    PMPI_Type_size_x(argument_type(call, traits->type), &size);
    return (uint64_t)(partitions * argument_count(call, traits->elements) * size);
}

/* No two persistent requests have one handle: the other one was freed unseen. */
static void forget_persistent(struct layer *layer, uint64_t handle)
{
    struct pending *pending = NULL;
    while ((pending = pending_find(&layer->operations, handle, pending))) {
        if (((const struct operation *)pending)->is_persistent)
            pending_drop(pending);
    }
}

void requests_init(struct recorder *recorder, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    const uint64_t handle = handle_of(call);
    forget_persistent(recorder->layer, handle);
    const bool is_message = traits->action == DOES_INIT_MESSAGE;
    struct operation *operation = add(recorder, handle,
                                      !is_message     ? OPERATION_COLLECTIVE
                                      : traits->sends ? OPERATION_SEND
                                                      : OPERATION_RECEIVE);
    if (!operation)
        return;
    operation->is_persistent = true;
    operation->is_active = false;
    operation->function = (uint16_t)call->function->number;
    operation->comm = objects_find_comm(recorder, call, traits->comm);
    if (is_message) {
        operation->peer = value_of_peer(argument_int(call, traits->peer));
        operation->tag = value_of_tag(argument_int(call, traits->tag));
        operation->bytes = operation->peer == TRACE_PROC_NULL ? 0 : size_of(call);
        operation->is_whole = traits->partitions >= 0;
    } else {
        int root;
        if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
            operation->root = value_of_root(root);
    }
    pending_publish(&operation->pending, handle);
}

/* The bytes of a call of MPI_Start(all) are those of all that it starts: what is not those of
 * messages is the collective's. (Of several collectives, the first one gets the bytes of all.) */
static void find_collective_bytes(const QMPIX_Call *call, struct operation *collective,
                                  uint64_t sent_before, uint64_t received_before)
{
    MPI_Count sent = 0, received = 0;
    QMPIX_Call_get_bytes(call, &sent, &received);
    collective->bytes = (uint64_t)sent - sent_before;
    collective->received = (uint64_t)received - received_before;
}

static struct operation *start(struct recorder *recorder, uint64_t handle)
{
    struct layer *layer = recorder->layer;
    struct operation *operation = find(layer, handle);
    if (!operation || !operation->is_persistent)
        return NULL;
    operation->is_active = true;
    operation->is_recorded = !recorder->is_mute;
    operation->may_be_cancelled = false;
    operation->order = atomic_fetch_add(&layer->operation_order, 1);
    operation->epoch = atomic_load(&layer->epoch);
    operation->request = recorder_new_request(recorder);
    return operation;
}

void requests_start(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    const int count = traits->count < 0 ? 1 : argument_int(call, traits->count);
    uint64_t sent = 0, received = 0;
    struct operation *collective = NULL;
    for (int i = 0; i < count; i++) {
        struct operation *operation =
            start(recorder, argument_element_word(call, traits->request, i));
        if (!operation)
            continue;
        put_begin(recorder, operation, ticks);
        sent += operation->kind == OPERATION_SEND ? operation->bytes : 0;
        received += operation->kind == OPERATION_RECEIVE ? operation->bytes : 0;
        if (operation->kind == OPERATION_COLLECTIVE) {
            operation->bytes = operation->received = 0;
            collective = collective ? collective : operation;
        }
    }
    if (collective)
        find_collective_bytes(call, collective, sent, received);
}

/* ---- Cancelled, freed, and matched ----------------------------------------------------------- */

void requests_cancel(struct recorder *recorder, const QMPIX_Call *call)
{
    struct operation *operation = find(recorder->layer, handle_of(call));
    if (operation)
        operation->may_be_cancelled = true;
}

void requests_begin_free(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call)
{
    flight->held = NULL;
    if (!argument_address(call, traits_of(call)->request))
        return;
    struct operation *operation = find(recorder->layer, handle_of(call));
    if (operation) {
        pending_hold(&operation->pending, 0, NULL);
        flight->held = operation;
    }
}

void requests_end_free(struct recorder *recorder, struct flight *flight, bool has_succeeded,
                       uint64_t ticks)
{
    struct operation *operation = flight->held;
    struct trace_event event;
    flight->held = NULL;
    if (!operation)
        return;
    if (!has_succeeded) {
        pending_release(&operation->pending);
        return;
    }
    const bool tells =
        operation->is_active && operation->is_recorded && (operation->kind <= OPERATION_IO);
    trace_event_clear(&event, TRACE_REQUEST_FREED, ticks);
    event.request = operation->request;
    if (tells)
        recorder_put_event(recorder, &event);
    event.request = operation->second;
    if (tells && operation->kind == OPERATION_BOTH)
        recorder_put_event(recorder, &event);
    pending_drop(&operation->pending);
}

void requests_match(struct recorder *recorder, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    if (traits->flag >= 0 && !argument_int_at(call, traits->flag))
        return;
    const uint64_t handle = argument_element_word(call, traits->message, 0);
    struct operation *message =
        (struct operation *)pending_take(&recorder->layer->messages, handle);
    if (!message)
        return;
    message->comm = objects_find_comm(recorder, call, traits->comm);
    pending_publish(&message->pending, handle);
}

void requests_hold_message(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call)
{
    const int argument = traits_of(call)->message;
    flight->held = NULL;
    if (!argument_address(call, argument))
        return;
    struct pending *message =
        pending_find(&recorder->layer->messages, argument_element_word(call, argument, 0), NULL);
    if (message)
        pending_hold(message, 0, NULL);
    flight->held = message;
}

uint32_t requests_message_comm(const struct flight *flight)
{
    return flight->held ? ((const struct operation *)flight->held)->comm : TRACE_NONE;
}

void requests_end_message(struct flight *flight)
{
    if (flight->held)
        pending_drop(flight->held);
    flight->held = NULL;
}
