/* SPDX-License-Identifier: MIT */
/* See requests.h: calls that complete operations. */
#include "record/objects.h"
#include "record/recorder.h"
#include "record/requests.h"
#include "record/values.h"

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

struct completed {
    struct recorder *recorder;
    const QMPIX_Call *call;
    uint64_t ticks;
};

static bool is_cancelled(const struct completed *completed, const struct operation *operation,
                         int argument, int element)
{
    MPI_Status status;
    int cancelled = 0;
    if (operation->may_be_cancelled &&
        argument_status_at(completed->call, argument, element, &status))
        PMPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

static void find_received(const struct completed *completed, const struct operation *operation,
                          int argument, int element, struct trace_event *event)
{
    MPI_Status status;
    MPI_Count bytes;
    const bool asks = operation->peer == TRACE_ANY || operation->tag == TRACE_ANY;
    event->peer = operation->peer;
    event->tag = operation->tag;
    event->bytes = operation->bytes;
    if (operation->peer != TRACE_PROC_NULL && asks &&
        argument_status_at(completed->call, argument, element, &status)) {
        event->peer = value_of_peer(status.MPI_SOURCE);
        event->tag = value_of_tag(status.MPI_TAG);
    }
    if (!operation->is_whole &&
        QMPIX_Call_get_status_bytes(completed->call, argument, element, &bytes) == MPI_SUCCESS)
        event->bytes = (uint64_t)bytes;
}

static void put(const struct completed *completed, enum trace_kind kind,
                const struct operation *operation, uint64_t request)
{
    struct trace_event event;
    trace_event_clear(&event, kind, completed->ticks);
    event.request = request;
    if (kind == TRACE_ICOLLECTIVE_COMPLETE) {
        event.comm = operation->comm;
        event.root = operation->root;
        event.function = operation->function;
        event.bytes = operation->bytes;
        event.received = operation->received;
    }
    recorder_put_event(completed->recorder, &event);
}

static void put_received(const struct completed *completed, const struct operation *operation,
                         int argument, int element)
{
    struct trace_event event;
    trace_event_clear(&event, TRACE_IRECV, completed->ticks);
    event.request = operation->request;
    event.comm = operation->comm;
    find_received(completed, operation, argument, element, &event);
    recorder_put_event(completed->recorder, &event);
}

/* Of what MPI_Isendrecv has received, MPI libraries leave the status as it was. */
static void put_both(const struct completed *completed, const struct operation *operation)
{
    struct trace_event event;
    put(completed, TRACE_ISEND_COMPLETE, operation, operation->request);
    trace_event_clear(&event, TRACE_IRECV, completed->ticks);
    event.request = operation->second;
    event.comm = operation->comm;
    event.peer = operation->peer;
    event.tag = operation->tag;
    event.bytes = operation->received;
    recorder_put_event(completed->recorder, &event);
}

/* MPI is asked for the bytes: in the status of a file operation, Open MPI leaves open whether it
 * was cancelled. */
static void put_io(const struct completed *completed, const struct operation *operation,
                   int argument, int element)
{
    struct trace_event event;
    MPI_Status status;
    MPI_Count bytes = 0;
    trace_event_clear(&event, TRACE_IO, completed->ticks);
    event.request = operation->request;
    event.object = operation->object;
    if (argument_status_at(completed->call, argument, element, &status))
        PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    if (operation->reads)
        event.received = (uint64_t)bytes;
    else
        event.bytes = (uint64_t)bytes;
    recorder_put_event(completed->recorder, &event);
}

static void put_copy(const struct completed *completed, const struct operation *operation)
{
    const QMPIX_Function *function;
    struct trace_event event;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)operation->function, &function) !=
        MPI_SUCCESS)
        return;
    const QMPIX_Call call = {.function = function};
    trace_event_clear(&event, TRACE_COMM_CREATE, completed->ticks);
    event.comm = objects_create_comm_at(
        completed->recorder, &call, traits_all[operation->function].created, operation->created);
    if (event.comm != TRACE_NONE)
        recorder_put_event(completed->recorder, &event);
}

static void put_end(const struct completed *completed, const struct operation *operation,
                    int argument, int element)
{
    switch (operation->kind) {
    case OPERATION_SEND:
        put(completed, TRACE_ISEND_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RECEIVE:
        put_received(completed, operation, argument, element);
        break;
    case OPERATION_BOTH:
        put_both(completed, operation);
        break;
    case OPERATION_COLLECTIVE:
        put(completed, TRACE_ICOLLECTIVE_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RMA:
        put(completed, TRACE_RMA_COMPLETE, operation, operation->request);
        break;
    case OPERATION_IO:
        put_io(completed, operation, argument, element);
        break;
    default:
        break;
    }
}

static void end_one(void *data, struct pending *pending, int argument, int element)
{
    const struct completed *completed = data;
    struct operation *operation = (struct operation *)pending;
    if (!operation->is_active)
        return;
    operation->is_active = false;
    if (operation->kind == OPERATION_COPY_COMM && argument >= 0)
        put_copy(completed, operation);
    if (!operation->is_recorded || operation->kind > OPERATION_IO)
        return;
    if (argument >= 0 && !is_cancelled(completed, operation, argument, element)) {
        put_end(completed, operation, argument, element);
        return;
    }
    put(completed, TRACE_REQUEST_CANCELLED, operation, operation->request);
    if (operation->kind == OPERATION_BOTH)
        put(completed, TRACE_REQUEST_CANCELLED, operation, operation->second);
}

static bool has_tested(const QMPIX_Call *call, const struct completion *completion)
{
    return completion->flag >= 0 && argument_result_is_success(call) &&
           !argument_int_at(call, completion->flag);
}

static bool tells_test(const struct pending *pending)
{
    const struct operation *operation = (const struct operation *)pending;
    return operation->is_recorded && operation->kind <= OPERATION_IO;
}

/* Programs that poll do this all the time: it is one short record. */
bool requests_put_tested(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                         const uint64_t times[2])
{
    struct pending *held = flight->held;
    size_t count = 0, place = 0;
    if (!held || !has_tested(call, completion_of(call)))
        return false;
    for (const struct pending *pending = held; pending; pending = pending->next_held)
        count += tells_test(pending);
    if (count > UINT8_MAX)
        return false;
    const size_t size = sizeof(struct raw_tests) + count * sizeof(uint64_t);
    struct raw_tests *raw = recorder_room(recorder, size);
    if (raw)
        raw->head = (struct raw_head){.ticks = times[0],
                                      .end = times[1],
                                      .site = recorder_site(flight->number),
                                      .function = recorder_function(flight->number),
                                      .kind = RAW_TESTS,
                                      .event = (uint8_t)count};
    for (struct pending *next; held; held = next) {
        next = held->next_held;
        if (raw && tells_test(held))
            raw->requests[place++] = ((const struct operation *)held)->request;
        pending_release(held);
    }
    if (raw)
        recorder_publish(recorder, size);
    flight->held = NULL;
    return true;
}

void requests_complete(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                       uint64_t ticks)
{
    const struct completion *completion = completion_of(call);
    struct completed completed = {recorder, call, ticks};
    struct pending *held = flight->held;
    flight->held = NULL;
    if (!held)
        return;
    const bool tested = has_tested(call, completion);
    completions_each(call, completion, held, end_one, &completed);
    for (struct pending *next; held; held = next) {
        const struct operation *operation = (const struct operation *)held;
        next = held->next_held;
        if (tested && tells_test(held))
            put(&completed, TRACE_REQUEST_TEST, operation, operation->request);
        if (!operation->is_active && !operation->is_persistent)
            pending_drop(held);
        else
            pending_release(held);
    }
}
