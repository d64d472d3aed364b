/* SPDX-License-Identifier: MIT */
/* See operation.h. */
#include "tools/trace/record/operation.h"

#include "tools/trace/record/objects.h"
#include "tools/trace/record/recorder.h"

#include <string.h>

/* ---- One-sided accesses ---------------------------------------------------------------------- */

void operation_describe_access(struct recorder *recorder, const QMPIX_Call *call, uint64_t request,
                               uint64_t ticks, struct trace_event *event)
{
    const struct traits *traits = traits_of(call);
    MPI_Count sent = 0, received = 0;
    int peer = MPI_PROC_NULL;
    QMPIX_Call_get_bytes(call, &sent, &received);
    QMPIX_Call_get_peer(call, &peer, NULL, NULL);
    trace_event_clear(event,
                      traits->is_atomic ? TRACE_RMA_ATOMIC
                      : traits->is_get  ? TRACE_RMA_GET
                                        : TRACE_RMA_PUT,
                      ticks);
    event->object = objects_find_window(recorder, call, traits->window);
    event->peer = recorder_peer(peer);
    event->bytes = (uint64_t)sent;
    event->received = (uint64_t)received;
    event->request = request;
}

static void put_access(struct recorder *recorder, const QMPIX_Call *call, uint64_t request,
                       uint64_t ticks)
{
    struct trace_event event;
    operation_describe_access(recorder, call, request, ticks, &event);
    recorder_put_event(recorder, &event);
}

/* ---- Known operations ------------------------------------------------------------------------ */

static struct operation *add_operation(struct recorder *recorder, uint64_t handle,
                                       enum operation_kind kind)
{
    struct layer *layer = recorder->layer;
    struct operation *operation = (struct operation *)pending_take(&layer->operations, handle);
    if (!operation)
        return NULL; /* memory is exhausted, so the operation is not recorded */
    /* `pending` is left as it is and not even overwritten with the same values: an assignment to
     * the whole structure might clear it first, and another thread might then take the entry for an
     * unused one. */
    memset((char *)operation + sizeof operation->pending, 0,
           sizeof *operation - sizeof operation->pending);
    operation->kind = kind;
    operation->is_active = true;
    operation->is_recorded = !recorder->is_mute;
    operation->order = atomic_fetch_add(&layer->operation_order, 1);
    operation->epoch = atomic_load(&layer->epoch);
    operation->request = recorder_new_request(recorder);
    operation->second = TRACE_NO_REQUEST;
    operation->comm = operation->object = TRACE_NONE;
    operation->peer = operation->tag = operation->root = TRACE_UNDEFINED;
    return operation;
}

static uint64_t handle_of(const QMPIX_Call *call)
{
    return argument_element_word(call, traits_of(call)->request, 0);
}

/* Returns the oldest operation with this handle that no call holds, or NULL if there is none.
 * Forgets operations whose completion may have been missed. */
static struct operation *find_operation(struct layer *layer, uint64_t handle)
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

void operation_forget_all(struct layer *layer)
{
    atomic_fetch_add(&layer->epoch, 1);
}

/* ---- Nonblocking operations ------------------------------------------------------------------ */

/* Records the start of an operation. */
static void put_begin_event(struct recorder *recorder, const struct operation *operation,
                            uint64_t ticks)
{
    static const enum trace_event_kind kinds[] = {
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

static void set_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct operation *operation = data;
    if (operation->kind == OPERATION_BOTH && transfer->sending) {
        operation->send_peer = recorder_peer(transfer->peer);
        operation->send_tag = recorder_tag(transfer->tag);
        operation->bytes = (uint64_t)transfer->bytes;
        return;
    }
    operation->peer = recorder_peer(transfer->peer);
    operation->tag = recorder_tag(transfer->tag);
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
    if (traits->transfers_both_ways)
        return OPERATION_BOTH;
    return traits->sends ? OPERATION_SEND : OPERATION_RECEIVE;
}

static void set_collective(struct operation *operation, const QMPIX_Call *call)
{
    MPI_Count sent = 0, received = 0;
    int root;
    if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
        operation->root = recorder_root(root);
    QMPIX_Call_get_bytes(call, &sent, &received);
    operation->bytes = (uint64_t)sent;
    operation->received = (uint64_t)received;
}

static void describe_operation(struct recorder *recorder, struct operation *operation,
                               const struct flight *flight, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    operation->function = (uint16_t)call->function->number;
    if (traits->comm >= 0)
        operation->comm = objects_find_comm(recorder, call, traits->comm);
    else if (traits->action == DOES_POST_MATCHED)
        operation->comm = operation_message_comm(flight);
    switch (operation->kind) {
    case OPERATION_BOTH:
        operation->second = recorder_new_request(recorder);
        /* fall through */
    case OPERATION_SEND:
    case OPERATION_RECEIVE:
        QMPIX_Call_for_each_transfer(call, set_transfer, operation);
        break;
    case OPERATION_COLLECTIVE:
        set_collective(operation, call);
        break;
    case OPERATION_IO:
        operation->object = objects_find_file(recorder, call, traits->file);
        operation->reads = traits->reads;
        break;
    case OPERATION_COPY_COMM:
        operation->created = argument_address(call, traits->created);
        break;
    default:
        break;
    }
}

void operation_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                    uint64_t ticks)
{
    const uint64_t handle = handle_of(call);
    struct operation *operation = add_operation(recorder, handle, kind_of(call));
    if (!operation)
        return;
    describe_operation(recorder, operation, flight, call);
    if (operation->kind == OPERATION_RMA)
        put_access(recorder, call, operation->request, ticks);
    else
        put_begin_event(recorder, operation, ticks);
    pending_publish(&operation->pending, handle);
}

/* ---- Persistent operations ------------------------------------------------------------------- */

static uint64_t persistent_size(const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    const int partitions = traits->partitions < 0 ? 1 : argument_int(call, traits->partitions);
    MPI_Count size = 0;
    if (traits->elements < 0 || traits->type < 0)
        return 0;
    const MPI_Count count = partitions * argument_count(call, traits->elements);
    if (count > 0) /* otherwise, the type may be invalid */
        PMPI_Type_size_x(argument_type(call, traits->type), &size);
    return (uint64_t)(count * size);
}

/* Forgets a persistent request with this handle. All persistent requests have different handles, so
 * an entry with this handle belongs to a request that was freed unnoticed. */
static void forget_persistent(struct layer *layer, uint64_t handle)
{
    struct pending *pending = NULL;
    while ((pending = pending_find(&layer->operations, handle, pending))) {
        if (((const struct operation *)pending)->is_persistent)
            pending_drop(pending);
    }
}

void operation_init(struct recorder *recorder, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    const uint64_t handle = handle_of(call);
    forget_persistent(recorder->layer, handle);
    const bool is_message = traits->action == DOES_INIT_MESSAGE;
    struct operation *operation = add_operation(recorder, handle,
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
        operation->peer = recorder_peer(argument_int(call, traits->peer));
        operation->tag = recorder_tag(argument_int(call, traits->tag));
        operation->bytes = operation->peer == TRACE_PROC_NULL ? 0 : persistent_size(call);
        operation->is_whole = traits->partitions >= 0;
    } else {
        int root;
        if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
            operation->root = recorder_root(root);
    }
    pending_publish(&operation->pending, handle);
}

/* Finds the bytes of a collective that MPI_Start or MPI_Startall starts. libqmpi provides the sum
 * of all operations that the call starts. `sent_before` and `received_before` are the bytes of its
 * messages; the rest belongs to the collective. If there are several collectives, the first one
 * gets all of the rest. */
static void find_collective_bytes(const QMPIX_Call *call, struct operation *collective,
                                  uint64_t sent_before, uint64_t received_before)
{
    MPI_Count sent = 0, received = 0;
    QMPIX_Call_get_bytes(call, &sent, &received);
    collective->bytes = (uint64_t)sent - sent_before;
    collective->received = (uint64_t)received - received_before;
}

static struct operation *start_persistent(struct recorder *recorder, uint64_t handle)
{
    struct layer *layer = recorder->layer;
    struct operation *operation = find_operation(layer, handle);
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

void operation_start(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    const struct traits *traits = traits_of(call);
    const int count = traits->requests < 0 ? 1 : argument_int(call, traits->requests);
    uint64_t sent = 0, received = 0;
    struct operation *collective = NULL;
    for (int i = 0; i < count; i++) {
        struct operation *operation =
            start_persistent(recorder, argument_element_word(call, traits->request, i));
        if (!operation)
            continue;
        put_begin_event(recorder, operation, ticks);
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

/* ---- Cancellation, MPI_Request_free, matched messages ---------------------------------------- */

void operation_cancel(struct recorder *recorder, const QMPIX_Call *call)
{
    struct operation *operation = find_operation(recorder->layer, handle_of(call));
    if (operation)
        operation->may_be_cancelled = true;
}

void operation_begin_free(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call)
{
    flight->held = NULL;
    if (!argument_address(call, traits_of(call)->request))
        return;
    const uint64_t handle = handle_of(call);
    struct operation *operation = find_operation(recorder->layer, handle);
    if (operation && pending_hold(&operation->pending, handle, 0, NULL))
        flight->held = operation;
}

void operation_end_free(struct recorder *recorder, struct flight *flight, bool has_succeeded,
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

void operation_match_message(struct recorder *recorder, const QMPIX_Call *call)
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

void operation_begin_receive(struct recorder *recorder, struct flight *flight,
                             const QMPIX_Call *call)
{
    const int argument = traits_of(call)->message;
    flight->held = NULL;
    if (!argument_address(call, argument))
        return;
    const uint64_t handle = argument_element_word(call, argument, 0);
    struct pending *message = pending_find(&recorder->layer->messages, handle, NULL);
    if (message && pending_hold(message, handle, 0, NULL))
        flight->held = message;
}

uint32_t operation_message_comm(const struct flight *flight)
{
    return flight->held ? ((const struct operation *)flight->held)->comm : TRACE_NONE;
}

void operation_end_receive(struct flight *flight)
{
    if (flight->held)
        pending_drop(flight->held);
    flight->held = NULL;
}

/* ---- Completion ------------------------------------------------------------------------------ */

static const struct pending_completion *completion_of(const QMPIX_Call *call)
{
    return &traits_of(call)->completion;
}

/* Returns the oldest active operation with this handle, or NULL if there is none. */
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

void operation_hold(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call)
{
    const struct pending_completion *completion = completion_of(call);
    const int count = completion->count < 0 ? 1 : argument_int(call, completion->count);
    const void *requests = argument_address(call, completion->requests);
    struct pending *first = NULL, *last = NULL;
    for (int i = 0; requests && i < count; i++) {
        const uint64_t handle = argument_element_word(call, completion->requests, i);
        struct operation *operation;
        do
            operation = find_active(recorder->layer, handle);
        while (operation && !pending_hold(&operation->pending, handle, i, NULL));
        if (!operation)
            continue;
        if (last)
            last->next_held = &operation->pending;
        else
            first = &operation->pending;
        last = &operation->pending;
    }
    flight->held = first;
}

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
        event->peer = recorder_peer(status.MPI_SOURCE);
        event->tag = recorder_tag(status.MPI_TAG);
    }
    if (!operation->is_whole &&
        QMPIX_Call_get_status_bytes(completed->call, argument, element, &bytes) == MPI_SUCCESS)
        event->bytes = (uint64_t)bytes;
}

static void put_end_event(const struct completed *completed, enum trace_event_kind kind,
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

static void put_received_message(const struct completed *completed,
                                 const struct operation *operation, int argument, int element)
{
    struct trace_event event;
    trace_event_clear(&event, TRACE_IRECV, completed->ticks);
    event.request = operation->request;
    event.comm = operation->comm;
    find_received(completed, operation, argument, element, &event);
    recorder_put_event(completed->recorder, &event);
}

/* Records the completion of MPI_Isendrecv. MPI libraries do not set its status. Readers take the
 * size of the received message from the process that sent it: see trace_messages_lack_size. */
static void put_received_of_both(const struct completed *completed,
                                 const struct operation *operation)
{
    struct trace_event event;
    put_end_event(completed, TRACE_ISEND_COMPLETE, operation, operation->request);
    trace_event_clear(&event, TRACE_IRECV, completed->ticks);
    event.request = operation->second;
    event.comm = operation->comm;
    event.peer = operation->peer;
    event.tag = operation->tag;
    event.bytes = operation->peer == TRACE_PROC_NULL ? 0 : operation->received;
    recorder_put_event(completed->recorder, &event);
}

/* Records the end of a file operation. Asks MPI for the number of bytes, because
 * QMPIX_Call_get_status_bytes first checks whether the operation was cancelled, and Open MPI does
 * not set this in the status. */
static void put_io_end(const struct completed *completed, const struct operation *operation,
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

static void put_copied_comm(const struct completed *completed, const struct operation *operation)
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

static void put_end_of(const struct completed *completed, const struct operation *operation,
                       int argument, int element)
{
    switch (operation->kind) {
    case OPERATION_SEND:
        put_end_event(completed, TRACE_ISEND_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RECEIVE:
        put_received_message(completed, operation, argument, element);
        break;
    case OPERATION_BOTH:
        put_received_of_both(completed, operation);
        break;
    case OPERATION_COLLECTIVE:
        put_end_event(completed, TRACE_ICOLLECTIVE_COMPLETE, operation, operation->request);
        break;
    case OPERATION_RMA:
        put_end_event(completed, TRACE_RMA_COMPLETE, operation, operation->request);
        break;
    case OPERATION_IO:
        put_io_end(completed, operation, argument, element);
        break;
    default:
        break;
    }
}

static void end_operation(void *data, struct pending *pending, int argument, int element)
{
    const struct completed *completed = data;
    struct operation *operation = (struct operation *)pending;
    if (!operation->is_active)
        return;
    operation->is_active = false;
    if (operation->kind == OPERATION_COPY_COMM && argument >= 0)
        put_copied_comm(completed, operation);
    if (!operation->is_recorded || operation->kind > OPERATION_IO)
        return;
    if (argument >= 0 && !is_cancelled(completed, operation, argument, element)) {
        put_end_of(completed, operation, argument, element);
        return;
    }
    put_end_event(completed, TRACE_REQUEST_CANCELLED, operation, operation->request);
    if (operation->kind == OPERATION_BOTH)
        put_end_event(completed, TRACE_REQUEST_CANCELLED, operation, operation->second);
}

static bool has_tested(const QMPIX_Call *call, const struct pending_completion *completion)
{
    return completion->flag >= 0 && argument_result_is_success(call) &&
           !argument_int_at(call, completion->flag);
}

static bool tells_test(const struct pending *pending)
{
    const struct operation *operation = (const struct operation *)pending;
    return operation->is_recorded && operation->kind <= OPERATION_IO;
}

/* Uses one short record, because programs that poll make such calls very often. */
bool operation_put_tests(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
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
    const size_t size = sizeof(struct record_tests) + count * sizeof(uint64_t);
    struct record_tests *record = recorder_room(recorder, size);
    if (record)
        record->head = (struct record_head){.ticks = times[0],
                                            .end = times[1],
                                            .site = recorder_site(flight->number),
                                            .function = recorder_function(flight->number),
                                            .kind = RECORD_TESTS,
                                            .event = (uint8_t)count};
    for (struct pending *next; held; held = next) {
        next = held->next_held;
        if (record && tells_test(held))
            record->requests[place++] = ((const struct operation *)held)->request;
        pending_release(held);
    }
    if (record)
        recorder_publish(recorder, size);
    flight->held = NULL;
    return true;
}

void operation_complete_held(struct recorder *recorder, struct flight *flight,
                             const QMPIX_Call *call, uint64_t ticks)
{
    const struct pending_completion *completion = completion_of(call);
    struct completed completed = {recorder, call, ticks};
    struct pending *held = flight->held;
    flight->held = NULL;
    if (!held)
        return;
    const bool tested = has_tested(call, completion);
    pending_each_completed(call, completion, held, end_operation, &completed);
    for (struct pending *next; held; held = next) {
        const struct operation *operation = (const struct operation *)held;
        next = held->next_held;
        if (tested && tells_test(held))
            put_end_event(&completed, TRACE_REQUEST_TEST, operation, operation->request);
        if (!operation->is_active && !operation->is_persistent)
            pending_drop(held);
        else
            pending_release(held);
    }
}
