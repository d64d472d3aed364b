/* SPDX-License-Identifier: MIT */
/*
 * See events.h. OTF2 has no records for messages to and from MPI_PROC_NULL, nor for messages whose
 * communicator or peer is unknown. These are left out, with the events of their requests. (If the
 * begin of a receive was already written, its request ends as cancelled.) Messages and collectives
 * that are only partly in a window of time are left out, too, because readers would count them.
 */
#include "tools/trace/otf2/events.h"

#include "tools/trace/analysis/collectives.h"
#include "tools/trace/file/cursor.h"
#include "tools/trace/otf2/archive.h"
#include "tools/trace/otf2/plan.h"
#include "tools/trace/otf2/thread.h"
#include "util/util.h"

#include <stdlib.h>

/* This many events fit into the buffer of libotf2 (4 MiB). Only if there are more, the room on the
 * disk is checked before the file is closed. */
enum { FEW_EVENTS = 50000 };

struct writing {
    const struct trace_events_source *source;
    const struct trace_process *process;
    struct trace_part *part;
    struct trace_plan_traits *functions;
    struct trace_thread *threads;
    size_t thread_count;
    struct open_region {
        uint32_t thread; /* the thread that has begun it */
        size_t count;    /* number of times that it has begun and not ended */
    } * regions;
    struct qmpi_table requests; /* number of the request -> struct request */
    OTF2_AttributeList *attributes;
    uint64_t matching; /* number for the next access */
    struct trace_collectives collectives;
    bool is_left_out; /* the message or collective of the current event is left out */
    bool failed;      /* memory was exhausted, or something could not be read or written */
};

/* ---- Requests -------------------------------------------------------------------------------- */

/* What must be known about an operation when it completes. */
struct request {
    enum request_kind {
        REQUEST_UNKNOWN, /* a message or a collective, about which nothing must be known */
        REQUEST_IGNORED, /* the operation is not in the archive */
        REQUEST_ACCESS,  /* a one-sided access */
        REQUEST_FILE
    } kind;
    uint32_t object;   /* the window or file */
    uint64_t matching; /* the number of the access in the archive */
};

static void remember_request(struct writing *it, const struct trace_event *event,
                             struct request request)
{
    if (event->request == TRACE_NO_REQUEST)
        return;
    struct request *place = qmpi_table_put(&it->requests, event->request);
    it->failed |= !place;
    if (place)
        *place = request;
}

static struct request find_request(const struct writing *it, uint64_t number)
{
    const struct request *found = qmpi_table_get(&it->requests, number);
    return found ? *found : (struct request){REQUEST_UNKNOWN};
}

static struct request forget_request(struct writing *it, uint64_t number)
{
    const struct request request = find_request(it, number);
    qmpi_table_remove(&it->requests, number);
    return request;
}

/* Converts a time of the trace to a time in the archive, which is not before the last event of the
 * thread. */
static OTF2_TimeStamp archive_time(const struct writing *it, const struct trace_thread *thread,
                                   int64_t time)
{
    const int64_t since = trace_clock_subtract(time, it->source->begin);
    return since > 0 && (uint64_t)since > thread->time ? (uint64_t)since : thread->time;
}

/* ---- Messages -------------------------------------------------------------------------------- */

enum { NO_PEER = -1 };

/* Returns the rank of the peer of a message in the communicator of the archive, or NO_PEER. */
static int64_t peer_of(const struct writing *it, const struct trace_event *event)
{
    if (event->comm >= it->process->comm_count || event->peer < 0)
        return NO_PEER;
    const struct trace_comm *comm = &it->process->comms[event->comm];
    const int size = comm->remote ? comm->remote_size : comm->size;
    return event->peer < size ? event->peer + (int64_t)trace_part_remote_shift(comm) : NO_PEER;
}

static uint32_t tag_of(const struct trace_event *event)
{
    return event->tag >= 0 ? (uint32_t)event->tag : OTF2_UNDEFINED_UINT32;
}

static void write_request(struct writing *it, struct trace_thread *thread,
                          const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    /* For a receive from any rank, the peer becomes known when the receive completes. */
    if (event->kind == TRACE_IRECV_REQUEST && event->comm != TRACE_NONE &&
        (peer != NO_PEER || event->peer == TRACE_ANY))
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MpiIrecvRequest(thread->event_writer, NULL,
                                                                 thread->time, event->request));
    else if (event->kind == TRACE_ISEND && peer != NO_PEER && !it->is_left_out)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MpiIsend(
                                      thread->event_writer, NULL, thread->time, (uint32_t)peer,
                                      event->comm, tag_of(event), event->bytes, event->request));
    else
        remember_request(it, event, (struct request){.kind = REQUEST_IGNORED});
}

static void write_message(struct writing *it, struct trace_thread *thread,
                          const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    if (peer == NO_PEER || it->is_left_out)
        return;
    TRACE_THREAD_CALL(thread, event->kind == TRACE_SEND
                                  ? OTF2_EvtWriter_MpiSend(thread->event_writer, NULL, thread->time,
                                                           (uint32_t)peer, event->comm,
                                                           tag_of(event), event->bytes)
                                  : OTF2_EvtWriter_MpiRecv(thread->event_writer, NULL, thread->time,
                                                           (uint32_t)peer, event->comm,
                                                           tag_of(event), event->bytes));
}

static void write_receive(struct writing *it, struct trace_thread *thread,
                          const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    if (forget_request(it, event->request).kind == REQUEST_IGNORED)
        return;
    /* A request that was written must also end. If the received message is unknown or left out, the
     * request ends as cancelled. */
    TRACE_THREAD_CALL(thread, peer == NO_PEER || it->is_left_out
                                  ? OTF2_EvtWriter_MpiRequestCancelled(thread->event_writer, NULL,
                                                                       thread->time, event->request)
                                  : OTF2_EvtWriter_MpiIrecv(
                                        thread->event_writer, NULL, thread->time, (uint32_t)peer,
                                        event->comm, tag_of(event), event->bytes, event->request));
}

static void write_request_test(struct writing *it, struct trace_thread *thread,
                               const struct trace_event *event)
{
    const struct request request = find_request(it, event->request);
    if (request.kind == REQUEST_UNKNOWN)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MpiRequestTest(thread->event_writer, NULL,
                                                                thread->time, event->request));
    else if (request.kind == REQUEST_ACCESS)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_RmaOpTest(thread->event_writer, NULL, thread->time,
                                                           request.object, request.matching));
    else if (request.kind == REQUEST_FILE)
        TRACE_THREAD_CALL(thread,
                          OTF2_EvtWriter_IoOperationTest(thread->event_writer, NULL, thread->time,
                                                         request.object, request.matching));
}

static void write_cancelled_request(struct writing *it, struct trace_thread *thread,
                                    const struct trace_event *event)
{
    const struct request request = forget_request(it, event->request);
    if (request.kind == REQUEST_UNKNOWN)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MpiRequestCancelled(thread->event_writer, NULL,
                                                                     thread->time, event->request));
    else if (request.kind == REQUEST_FILE)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_IoOperationCancelled(thread->event_writer, NULL,
                                                                      thread->time, request.object,
                                                                      request.matching));
}

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Returns the root of a collective on communicator `number`, as its rank in the communicator of the
 * archive. On an intercommunicator, TRACE_ROOT_SELF means the process itself. The other members of
 * the root's group do not know the root, and get OTF2_COLLECTIVE_ROOT_NONE. */
static uint32_t root_of(const struct writing *it, const struct trace_event *event, uint32_t number)
{
    if (number >= it->process->comm_count)
        return OTF2_COLLECTIVE_ROOT_NONE;
    const struct trace_comm *comm = &it->process->comms[number];
    const int size = comm->remote ? comm->remote_size : comm->size;
    if (event->root == TRACE_ROOT_SELF && comm->rank >= 0)
        return (uint32_t)(comm->rank + trace_part_local_shift(comm));
    return event->root >= 0 && event->root < size
               ? (uint32_t)(event->root + trace_part_remote_shift(comm))
               : OTF2_COLLECTIVE_ROOT_NONE;
}

static OTF2_CollectiveOp operation_of(const struct writing *it, uint32_t function)
{
    return function < it->process->function_count ? it->functions[function].operation
                                                  : OTF2_COLLECTIVE_OP_BARRIER;
}

static void write_collective_begin(const struct writing *it, struct trace_thread *thread,
                                   const struct trace_event *event)
{
    struct trace_thread_call *call = trace_thread_current(thread);
    if (!call || call->is_collective || event->comm == TRACE_NONE || it->is_left_out)
        return;
    call->is_collective = true;
    call->comm = event->comm;
    TRACE_THREAD_CALL(thread,
                      OTF2_EvtWriter_MpiCollectiveBegin(thread->event_writer, NULL, thread->time));
}

static void write_collective_end(struct writing *it, struct trace_thread *thread,
                                 const struct trace_event *event)
{
    write_collective_begin(it, thread, event); /* in case its beginning is missing */
    struct trace_thread_call *call = trace_thread_current(thread);
    if (!call || !call->is_collective)
        return;
    TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MpiCollectiveEnd(
                                  thread->event_writer, NULL, thread->time,
                                  operation_of(it, call->function), call->comm,
                                  root_of(it, event, call->comm), event->bytes, event->received));
    call->is_collective = false;
}

static void write_nonblocking_collective(struct writing *it, struct trace_thread *thread,
                                         const struct trace_event *event)
{
    if (event->kind == TRACE_ICOLLECTIVE_REQUEST) {
        if (event->comm == TRACE_NONE || it->is_left_out)
            remember_request(it, event, (struct request){.kind = REQUEST_IGNORED});
        else
            TRACE_THREAD_CALL(
                thread, OTF2_EvtWriter_NonBlockingCollectiveRequest(thread->event_writer, NULL,
                                                                    thread->time, event->request));
    } else if (forget_request(it, event->request).kind == REQUEST_UNKNOWN &&
               event->comm != TRACE_NONE && !it->is_left_out) {
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_NonBlockingCollectiveComplete(
                                      thread->event_writer, NULL, thread->time,
                                      operation_of(it, event->function), event->comm,
                                      root_of(it, event, event->comm), event->bytes,
                                      event->received, event->request));
    }
}

/* ---- One-sided accesses and files: all records of an access have the same number ------------- */

static void write_access(struct writing *it, struct trace_thread *thread,
                         const struct trace_event *event)
{
    const uint32_t window = event->object;
    if (event->peer < 0 || window == TRACE_NONE) {
        remember_request(it, event, (struct request){.kind = REQUEST_IGNORED});
        return;
    }
    const uint64_t matching = it->matching++;
    const uint32_t peer = (uint32_t)event->peer;
    remember_request(
        it, event,
        (struct request){.kind = REQUEST_ACCESS, .object = window, .matching = matching});
    OTF2_EvtWriter *writer = thread->event_writer;
    if (event->kind == TRACE_RMA_PUT && !event->received) {
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_RmaPut(writer, NULL, thread->time, window, peer,
                                                        event->bytes, matching));
    } else if (event->kind == TRACE_RMA_GET) {
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_RmaGet(writer, NULL, thread->time, window, peer,
                                                        event->received, matching));
    } else {
        const struct trace_thread_call *call = trace_thread_current(thread);
        TRACE_THREAD_CALL(thread,
                          OTF2_EvtWriter_RmaAtomic(writer, NULL, thread->time, window, peer,
                                                   call ? it->functions[call->function].atomic
                                                        : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
                                                   event->bytes, event->received, matching));
    }
}

static void complete_access(struct writing *it, struct trace_thread *thread,
                            const struct trace_event *event)
{
    const struct request request = forget_request(it, event->request);
    if (request.kind == REQUEST_ACCESS)
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_RmaOpCompleteNonBlocking(
                                      thread->event_writer, NULL, thread->time, request.object,
                                      request.matching));
}

/* How many bytes were requested is known only for a write that has ended, because the call would
 * have failed if it had not written all of them. Reads may have got less than they requested. */
static void begin_file_access(struct writing *it, struct trace_thread *thread,
                              const struct trace_event *event, uint64_t matching)
{
    const struct trace_thread_call *call = trace_thread_current(thread);
    const struct trace_plan_traits *function = call ? &it->functions[call->function] : NULL;
    const bool writes = event->bytes || (!event->received && function && function->writes_file);
    const uint64_t requested =
        writes && event->kind == TRACE_IO ? event->bytes : OTF2_UNDEFINED_UINT64;
    OTF2_IoOperationFlag flags = OTF2_IO_OPERATION_FLAG_NONE;
    if (event->request != TRACE_NO_REQUEST)
        flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
    if (function && function->is_collective_access)
        flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
    TRACE_THREAD_CALL(thread, OTF2_EvtWriter_IoOperationBegin(thread->event_writer, NULL,
                                                              thread->time, event->object,
                                                              writes ? OTF2_IO_OPERATION_MODE_WRITE
                                                                     : OTF2_IO_OPERATION_MODE_READ,
                                                              flags, requested, matching));
}

static void complete_file_access(struct trace_thread *thread, const struct trace_event *event,
                                 uint32_t file, uint64_t matching)
{
    TRACE_THREAD_CALL(
        thread, OTF2_EvtWriter_IoOperationComplete(thread->event_writer, NULL, thread->time, file,
                                                   event->bytes + event->received, matching));
}

static void write_file_access(struct writing *it, struct trace_thread *thread,
                              const struct trace_event *event)
{
    const uint64_t matching = it->matching++;
    begin_file_access(it, thread, event, matching);
    thread->time = archive_time(it, thread, event->time);
    complete_file_access(thread, event, event->object, matching);
}

static void write_file_event(struct writing *it, struct trace_thread *thread,
                             const struct trace_event *event)
{
    if (event->kind == TRACE_IO_REQUEST) {
        if (event->object == TRACE_NONE) {
            remember_request(it, event, (struct request){.kind = REQUEST_IGNORED});
            return;
        }
        const uint64_t matching = it->matching++;
        remember_request(
            it, event,
            (struct request){.kind = REQUEST_FILE, .object = event->object, .matching = matching});
        begin_file_access(it, thread, event, matching);
        TRACE_THREAD_CALL(thread,
                          OTF2_EvtWriter_IoOperationIssued(thread->event_writer, NULL, thread->time,
                                                           event->object, matching));
    } else if (event->request != TRACE_NO_REQUEST) {
        const struct request request = forget_request(it, event->request);
        if (request.kind == REQUEST_FILE)
            complete_file_access(thread, event, request.object, request.matching);
    } else if (event->object != TRACE_NONE) {
        /* The access could not be written at the beginning of the call (see write_entered), so it
         * is written now. */
        write_file_access(it, thread, event);
    }
}

/* ---- Objects, counters and gaps -------------------------------------------------------------- */

static void write_object(struct writing *it, struct trace_thread *thread,
                         const struct trace_event *event)
{
    OTF2_EvtWriter *writer = thread->event_writer;
    switch (event->kind) {
    case TRACE_COMM_CREATE:
    case TRACE_COMM_DESTROY:
        if (event->comm >= it->process->comm_count)
            return;
        it->part->comm_events[event->comm] = 1;
        TRACE_THREAD_CALL(
            thread, event->kind == TRACE_COMM_CREATE
                        ? OTF2_EvtWriter_CommCreate(writer, NULL, thread->time, event->comm)
                        : OTF2_EvtWriter_CommDestroy(writer, NULL, thread->time, event->comm));
        return;
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        if (event->object >= it->process->window_count)
            return;
        it->part->window_events[event->object] = 1;
        TRACE_THREAD_CALL(
            thread, event->kind == TRACE_WIN_CREATE
                        ? OTF2_EvtWriter_RmaWinCreate(writer, NULL, thread->time, event->object)
                        : OTF2_EvtWriter_RmaWinDestroy(writer, NULL, thread->time, event->object));
        return;
    default:
        if (event->object >= it->process->file_count)
            return;
        TRACE_THREAD_CALL(
            thread,
            event->kind == TRACE_FILE_OPEN
                ? OTF2_EvtWriter_IoCreateHandle(
                      writer, NULL, thread->time, event->object, OTF2_IO_ACCESS_MODE_READ_WRITE,
                      OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE)
                : OTF2_EvtWriter_IoDestroyHandle(writer, NULL, thread->time, event->object));
    }
}

static void write_state(struct writing *it, struct trace_thread *thread,
                        const struct trace_event *event)
{
    OTF2_EvtWriter *writer = thread->event_writer;
    if (event->kind == TRACE_COUNTER) {
        const OTF2_Type type = OTF2_TYPE_DOUBLE;
        OTF2_MetricValue value;
        value.floating_point = event->value;
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_Metric(writer, NULL, thread->time, event->object,
                                                        1, &type, &value));
    } else if (event->kind == TRACE_FLUSH) {
        const int64_t end =
            trace_reader_time(it->source->trace, it->process, event->ticks + event->bytes);
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_BufferFlush(writer, NULL, thread->time,
                                                             archive_time(it, thread, end)));
    } else if (event->kind == TRACE_DROPPED) { /* in OTF2, dropped events can only be shown as a
                                                  time when recording was off */
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, thread->time,
                                                                  OTF2_MEASUREMENT_OFF));
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, thread->time,
                                                                  OTF2_MEASUREMENT_ON));
    } else {
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, thread->time,
                                                                  event->kind == TRACE_OFF
                                                                      ? OTF2_MEASUREMENT_OFF
                                                                      : OTF2_MEASUREMENT_ON));
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void write_enter(struct writing *it, struct trace_thread *thread,
                        const struct trace_event *event)
{
    OTF2_AttributeList *attributes = NULL;
    if (event->site < it->process->site_count && it->process->sites[event->site].count) {
        const struct trace_site *site = &it->process->sites[event->site];
        attributes = it->attributes;
        TRACE_THREAD_CALL(thread, OTF2_AttributeList_AddSourceCodeLocationRef(
                                      attributes, PLAN_ATTRIBUTE_SITE, event->site));
        if (site->count > 1)
            TRACE_THREAD_CALL(thread, OTF2_AttributeList_AddCallingContextRef(
                                          attributes, PLAN_ATTRIBUTE_CONTEXT, event->site));
    }
    thread->time = archive_time(it, thread, event->time);
    trace_thread_enter(thread, attributes, event->function);
    if (attributes)
        OTF2_AttributeList_RemoveAllAttributes(attributes);
}

static void write_leave(struct writing *it, struct trace_thread *thread)
{
    const struct trace_thread_call *call = trace_thread_current(thread);
    if (call && call->is_collective) { /* the call has failed, or the process has ended in it */
        struct trace_event event;
        trace_event_clear(&event, TRACE_COLLECTIVE_END, 0);
        write_collective_end(it, thread, &event);
    }
    trace_thread_leave(thread);
}

/* Writes the begin of a call that accesses a file. This is done when the next event of the thread
 * is known, because the access begins with the call, but the number of its bytes is only known at
 * its end. Returns whether `next` was written, too. */
static bool write_entered(struct writing *it, struct trace_thread *thread,
                          const struct trace_event *next)
{
    if (!thread->has_entered)
        return false;
    thread->has_entered = false;
    write_enter(it, thread, &thread->entered);
    if (next->kind != TRACE_IO || next->request != TRACE_NO_REQUEST || next->object == TRACE_NONE)
        return false;
    write_file_access(it, thread, next);
    return true;
}

/* Writes the begin or the end of a region. Regions belong to the process, so one thread may begin a
 * region and another thread end it. */
static void write_region(struct writing *it, struct trace_thread *thread,
                         const struct trace_event *event)
{
    const uint32_t number = (uint32_t)it->process->function_count + event->object;
    struct open_region *region = &it->regions[event->object];
    if (event->kind == TRACE_REGION_BEGIN) {
        if (region->count++)
            return;
        region->thread = (uint32_t)(thread - it->threads);
        trace_thread_change_region(thread, number, true);
    } else if (region->count && !--region->count) {
        struct trace_thread *other = &it->threads[region->thread];
        write_entered(it, other, event);
        other->time = archive_time(it, other, event->time);
        trace_thread_change_region(other, number, false);
    }
}

/* ---- All events ------------------------------------------------------------------------------ */

static void write_event(struct writing *it, struct trace_thread *thread,
                        const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->function >= it->process->function_count)
            return;
        if (it->functions[event->function].accesses_file) {
            thread->entered = *event;
            thread->has_entered = true;
        } else {
            write_enter(it, thread, event);
        }
        return;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        write_leave(it, thread);
        return;
    case TRACE_SEND:
    case TRACE_RECV:
        write_message(it, thread, event);
        return;
    case TRACE_ISEND:
    case TRACE_IRECV_REQUEST:
        write_request(it, thread, event);
        return;
    case TRACE_ISEND_COMPLETE:
        if (forget_request(it, event->request).kind == REQUEST_UNKNOWN)
            TRACE_THREAD_CALL(thread,
                              OTF2_EvtWriter_MpiIsendComplete(thread->event_writer, NULL,
                                                              thread->time, event->request));
        return;
    case TRACE_IRECV:
        write_receive(it, thread, event);
        return;
    case TRACE_REQUEST_TEST:
        write_request_test(it, thread, event);
        return;
    case TRACE_REQUEST_CANCELLED:
        write_cancelled_request(it, thread, event);
        return;
    case TRACE_REQUEST_FREED:
        forget_request(it, event->request);
        return;
    case TRACE_COLLECTIVE_BEGIN:
        write_collective_begin(it, thread, event);
        return;
    case TRACE_COLLECTIVE_END:
        write_collective_end(it, thread, event);
        return;
    case TRACE_ICOLLECTIVE_REQUEST:
    case TRACE_ICOLLECTIVE_COMPLETE:
        write_nonblocking_collective(it, thread, event);
        return;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        write_access(it, thread, event);
        return;
    case TRACE_RMA_COMPLETE:
        complete_access(it, thread, event);
        return;
    case TRACE_IO_REQUEST:
    case TRACE_IO:
        write_file_event(it, thread, event);
        return;
    case TRACE_COMM_CREATE:
    case TRACE_COMM_DESTROY:
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        write_object(it, thread, event);
        return;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        if (event->object < it->process->region_count)
            write_region(it, thread, event);
        return;
    case TRACE_COUNTER:
    case TRACE_OFF:
    case TRACE_ON:
    case TRACE_DROPPED:
    case TRACE_FLUSH:
        write_state(it, thread, event);
        return;
    case TRACE_CALL_OBJECT:
    case TRACE_KINDS:
        return;
    }
}

static void write_next_event(struct writing *it, const struct trace_event *event)
{
    if (event->location >= it->thread_count)
        return;
    struct trace_thread *thread = &it->threads[event->location];
    const bool is_written = write_entered(it, thread, event);
    thread->time = archive_time(it, thread, event->time);
    if (!is_written)
        write_event(it, thread, event);
    it->failed |= thread->error != OTF2_SUCCESS;
}

static void write_events_of_cursor(struct writing *it)
{
    const struct trace_events_source *source = it->source;
    struct trace_event event;
    struct trace_cursor *cursor =
        trace_cursor_make(source->trace, source->process, TRACE_NONE, source->selection);
    it->failed |= !cursor;
    while (!it->failed && trace_cursor_next(cursor, &event, NULL))
        write_next_event(it, &event);
    it->failed |= trace_reader_error(source->trace) != 0;
    if (cursor)
        trace_cursor_free(cursor);
}

static void write_events_of_view(struct writing *it)
{
    const struct trace_events_source *source = it->source;
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(source->view, source->process);
    it->failed |= !stream || !trace_collectives_start(&it->collectives, it->process);
    while (!it->failed && trace_view_stream_next(stream, &event, &message)) {
        const struct trace_collectives_part part =
            trace_collectives_next(&it->collectives, &event, message);
        if (source->cuts)
            it->is_left_out = part.role != COLLECTIVE_NO_PART
                                  ? trace_cuts_have_collective(source->cuts, part.number)
                                  : message && trace_cuts_have_message(source->cuts, message);
        write_next_event(it, &event);
    }
    it->failed |= stream && trace_view_stream_failed(stream);
    trace_collectives_free(&it->collectives);
    trace_view_stream_free(stream);
}

static void write_all_events(struct writing *it)
{
    if (it->source->view)
        write_events_of_view(it);
    else
        write_events_of_cursor(it);
}

/* Ends the calls and regions of a thread that have no end. They last until `end`. */
static void finish_thread(struct writing *it, struct trace_thread *thread, int64_t end)
{
    struct trace_event last;
    trace_event_clear(&last, TRACE_KINDS, 0);
    write_entered(it, thread, &last);
    thread->time = archive_time(it, thread, end);
    while (thread->depth)
        write_leave(it, thread);
    trace_thread_end(thread);
    it->failed |= thread->error != OTF2_SUCCESS;
}

static void finish_threads(struct writing *it)
{
    const struct trace_events_source *source = it->source;
    int64_t end = trace_reader_time(source->trace, it->process, it->process->end_ticks);
    if (source->selection && source->selection->has_end && end > source->selection->end)
        end = source->selection->end;
    for (size_t i = 0; i < it->thread_count; i++)
        finish_thread(it, &it->threads[i], end);
}

static bool prepare_writing(struct writing *it, OTF2_Archive *archive)
{
    const struct trace_process *process = it->process;
    it->thread_count = trace_part_thread_count(it->part);
    it->threads = calloc(it->thread_count, sizeof *it->threads);
    it->functions = calloc(process->function_count + 1, sizeof *it->functions);
    it->regions = calloc(process->region_count + 1, sizeof *it->regions);
    it->attributes = OTF2_AttributeList_New();
    if (!it->threads || !it->functions || !it->regions || !it->attributes)
        return false;
    for (size_t i = 0; i < process->function_count; i++)
        it->functions[i] = trace_plan_find_traits(&process->functions[i]);
    for (size_t i = 0; i < it->thread_count; i++) {
        it->threads[i].event_writer =
            OTF2_Archive_GetEvtWriter(archive, trace_part_location(it->part, i));
        if (!it->threads[i].event_writer)
            return false;
    }
    return true;
}

/* Closes the file of a thread, unless an error has occurred or there is no room for the data that
 * libotf2 still buffers. Sets *events to the number of events in it. Returns the first error of the
 * thread. */
static OTF2_ErrorCode close_thread_file(const struct writing *it, OTF2_Archive *archive,
                                        size_t index, uint64_t *events)
{
    struct trace_thread *thread = &it->threads[index];
    if (thread->event_writer && !it->failed) {
        TRACE_THREAD_CALL(thread, OTF2_EvtWriter_GetNumberOfEvents(thread->event_writer, events));
        if (!*events) {
            TRACE_THREAD_CALL(thread, trace_events_write_none(thread->event_writer));
            *events = 1;
        }
        if (*events > FEW_EVENTS &&
            !trace_archive_has_room(it->source->directory, trace_part_location(it->part, index)))
            TRACE_THREAD_CALL(thread, OTF2_ERROR_ENOSPC);
        TRACE_THREAD_CALL(thread, OTF2_Archive_CloseEvtWriter(archive, thread->event_writer));
    }
    const OTF2_ErrorCode error = thread->error;
    trace_thread_clear(thread);
    return error;
}

OTF2_ErrorCode trace_events_write_none(OTF2_EvtWriter *writer)
{
    return OTF2_EvtWriter_MeasurementOnOff(writer, NULL, 0, OTF2_MEASUREMENT_OFF);
}

OTF2_ErrorCode trace_events_write(OTF2_Archive *archive, const struct trace_events_source *source,
                                  struct trace_part *part)
{
    struct writing it = {.source = source, .process = part->process, .part = part};
    qmpi_table_start(&it.requests, sizeof(struct request));
    it.failed = !prepare_writing(&it, archive);
    if (!it.failed)
        write_all_events(&it);
    if (!it.failed)
        finish_threads(&it);
    OTF2_ErrorCode error = OTF2_SUCCESS;
    for (size_t i = 0; it.threads && i < it.thread_count; i++) {
        const OTF2_ErrorCode its = close_thread_file(&it, archive, i, &part->events[i]);
        error = error == OTF2_SUCCESS ? its : error;
    }
    if (it.failed && error == OTF2_SUCCESS)
        error = trace_reader_error(source->trace) ? OTF2_ERROR_FILE_CAN_NOT_OPEN
                                                  : OTF2_ERROR_MEM_ALLOC_FAILED;
    if (it.attributes)
        OTF2_AttributeList_Delete(it.attributes);
    qmpi_table_free(&it.requests);
    free(it.threads);
    free(it.functions);
    free(it.regions);
    return error;
}
