/* SPDX-License-Identifier: MIT */
/* See requests.h: calls that complete operations. */
#include "record/objects.h"
#include "record/operations.h"
#include "record/recorder.h"
#include "record/requests.h"

static const struct completion *completion_of(const QMPIX_Call *call)
{
    return &completions_all[traits_all[call->function->number].completion];
}

/* ---- Before ---------------------------------------------------------------------------------- */

/* Of several operations with one handle, the oldest one. */
static struct operation *find_active(struct layer *layer, uint64_t handle)
{
    const uint64_t epoch = atomic_load(&layer->epoch);
    struct operation *found = NULL;
    struct pending *pending = NULL;
    while ((pending = pending_find(&layer->operations, handle, pending))) {
        struct operation *operation = (struct operation *)pending;
        if (operation->is_active && operation->epoch == epoch &&
            (!found || operation->order < found->order))
            found = operation;
    }
    return found;
}

void requests_hold(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call)
{
    const struct completion *completion = completion_of(call);
    const int count = completion->count < 0 ? 1 : argument_int(call, completion->count);
    const void *requests = argument_address(call, completion->requests);
    struct pending *first = NULL, *last = NULL;
    for (int i = 0; requests && i < count; i++) {
        struct operation *operation =
            find_active(recorder->layer, argument_element_word(call, completion->requests, i));
        if (!operation)
            continue;
        pending_hold(&operation->pending, i, NULL);
        if (last)
            last->next_held = &operation->pending;
        else
            first = &operation->pending;
        last = &operation->pending;
    }
    flight->held = first;
}

/* ---- After ----------------------------------------------------------------------------------- */

struct ending {
    struct recorder *recorder;
    const QMPIX_Call *call;
    uint64_t ticks;
};

static bool is_cancelled(const struct ending *ending, const struct operation *operation,
                         int argument, int element)
{
    MPI_Status status;
    int cancelled = 0;
    if (operation->may_be_cancelled && argument_status_at(ending->call, argument, element, &status))
        PMPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

static void find_received(const struct ending *ending, const struct operation *operation,
                          int argument, int element, struct trace_event *event)
{
    MPI_Status status;
    MPI_Count bytes;
    const bool asks = operation->peer == TRACE_ANY || operation->tag == TRACE_ANY;
    event->peer = operation->peer;
    event->tag = operation->tag;
    event->bytes = operation->bytes;
    if (operation->peer != TRACE_PROC_NULL && asks &&
        argument_status_at(ending->call, argument, element, &status)) {
        event->peer = operations_peer(status.MPI_SOURCE);
        event->tag = operations_tag(status.MPI_TAG);
    }
    if (!operation->is_whole &&
        QMPIX_Call_get_status_bytes(ending->call, argument, element, &bytes) == MPI_SUCCESS)
        event->bytes = (uint64_t)bytes;
}

static void put(const struct ending *ending, enum trace_kind kind,
                const struct operation *operation, uint64_t request)
{
    struct trace_event event;
    trace_event_clear(&event, kind, ending->ticks);
    event.request = request;
    if (kind == TRACE_ICOLLECTIVE_COMPLETE) {
        event.comm = operation->comm;
        event.root = operation->root;
        event.function = operation->function;
        event.bytes = operation->bytes;
        event.received = operation->received;
    }
    recorder_put_event(ending->recorder, &event);
}

static void put_received(const struct ending *ending, const struct operation *operation,
                         int argument, int element)
{
    struct trace_event event;
    trace_event_clear(&event, TRACE_IRECV, ending->ticks);
    event.request = operation->request;
    event.comm = operation->comm;
    find_received(ending, operation, argument, element, &event);
    recorder_put_event(ending->recorder, &event);
}

/* Of what MPI_Isendrecv has received, MPI libraries leave the status as it was. */
static void put_both(const struct ending *ending, const struct operation *operation)
{
    struct trace_event event;
    put(ending, TRACE_ISEND_COMPLETE, operation, operation->request);
    trace_event_clear(&event, TRACE_IRECV, ending->ticks);
    event.request = operation->second;
    event.comm = operation->comm;
    event.peer = operation->peer;
    event.tag = operation->tag;
    event.bytes = operation->received;
    recorder_put_event(ending->recorder, &event);
}

static void put_io(const struct ending *ending, const struct operation *operation, int argument,
                   int element)
{
    struct trace_event event;
    MPI_Count bytes = 0;
    trace_event_clear(&event, TRACE_IO, ending->ticks);
    event.request = operation->request;
    event.object = operation->object;
    QMPIX_Call_get_status_bytes(ending->call, argument, element, &bytes);
    if (operation->reads)
        event.received = (uint64_t)bytes;
    else
        event.bytes = (uint64_t)bytes;
    recorder_put_event(ending->recorder, &event);
}

static void put_copy(const struct ending *ending, const struct operation *operation)
{
    const QMPIX_Function *function;
    struct trace_event event;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)operation->function, &function) !=
        MPI_SUCCESS)
        return;
    const QMPIX_Call call = {.function = function};
    trace_event_clear(&event, TRACE_COMM_CREATE, ending->ticks);
    event.comm = objects_create_comm_at(
        ending->recorder, &call, traits_all[operation->function].created, operation->created);
    if (event.comm != TRACE_NONE)
        recorder_put_event(ending->recorder, &event);
}

static void put_end(const struct ending *ending, const struct operation *operation, int argument,
                    int element)
{
    switch (operation->kind) {
    case OPERATION_SEND:
        put(ending, TRACE_ISEND_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RECEIVE:
        put_received(ending, operation, argument, element);
        break;
    case OPERATION_BOTH:
        put_both(ending, operation);
        break;
    case OPERATION_COLLECTIVE:
        put(ending, TRACE_ICOLLECTIVE_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RMA:
        put(ending, TRACE_RMA_COMPLETE, operation, operation->request);
        break;
    case OPERATION_IO:
        put_io(ending, operation, argument, element);
        break;
    default:
        break;
    }
}

static void end_one(void *data, struct pending *pending, int argument, int element)
{
    const struct ending *ending = data;
    struct operation *operation = (struct operation *)pending;
    if (!operation->is_active)
        return;
    operation->is_active = false;
    if (operation->kind == OPERATION_COPY_COMM && argument >= 0)
        put_copy(ending, operation);
    if (!operation->is_recorded || operation->kind > OPERATION_IO)
        return;
    if (argument >= 0 && !is_cancelled(ending, operation, argument, element)) {
        put_end(ending, operation, argument, element);
        return;
    }
    put(ending, TRACE_REQUEST_CANCELLED, operation, operation->request);
    if (operation->kind == OPERATION_BOTH)
        put(ending, TRACE_REQUEST_CANCELLED, operation, operation->second);
}

static bool has_tested(const QMPIX_Call *call, const struct completion *completion)
{
    return completion->flag >= 0 && argument_result_is_success(call) &&
           !argument_int_at(call, completion->flag);
}

void requests_complete(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                       uint64_t ticks)
{
    const struct completion *completion = completion_of(call);
    struct ending ending = {recorder, call, ticks};
    struct pending *held = flight->held;
    flight->held = NULL;
    if (!held)
        return;
    const bool tested = has_tested(call, completion);
    completions_each(call, completion, held, end_one, &ending);
    for (struct pending *next; held; held = next) {
        const struct operation *operation = (const struct operation *)held;
        next = held->next_held;
        if (tested && operation->is_recorded && operation->kind <= OPERATION_IO)
            put(&ending, TRACE_REQUEST_TEST, operation, operation->request);
        if (!operation->is_active && !operation->is_persistent)
            pending_drop(held);
        else
            pending_release(held);
    }
}
