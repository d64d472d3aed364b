/* SPDX-License-Identifier: MIT */
/*
 * Messages and collectives in an archive. Left out is what OTF2 has no record for: messages to and
 * from MPI_PROC_NULL, and those of which the communicator or the peer is not known, with all that
 * is told of their requests.
 */
#include "trace/otf2/writing.h"

/* ---- Requests -------------------------------------------------------------------------------- */

void writing_remember(struct writing *it, const struct trace_event *event,
                      const struct trace_request *request)
{
    if (event->request == TRACE_NO_REQUEST)
        return;
    struct trace_request added = *request;
    added.number = event->request;
    it->failed |= !trace_pending_add(&it->requests, &added);
}

/* Removes what is known of a request. Its kind is TRACE_REQUEST_FREE if nothing is. */
struct trace_request writing_forget(struct writing *it, uint64_t number)
{
    struct trace_request *found = trace_pending_find(&it->requests, number);
    struct trace_request request = {0};
    if (found) {
        request = *found;
        trace_pending_remove(&it->requests, found);
    }
    return request;
}

struct trace_request writing_find(const struct writing *it, uint64_t number)
{
    const struct trace_request *found = trace_pending_find(&it->requests, number);
    return found ? *found : (struct trace_request){0};
}

/* ---- Messages -------------------------------------------------------------------------------- */

enum { NO_PEER = -1 };

/* The rank of the peer of a message in its communicator, as the archive has it. */
static int64_t peer_of(const struct writing *it, const struct trace_event *event)
{
    if (event->comm >= it->process->comm_count || event->peer < 0)
        return NO_PEER;
    const struct trace_comm *comm = &it->process->comms[event->comm];
    const int size = comm->remote ? comm->remote_size : comm->size;
    return event->peer < size ? event->peer + (int64_t)archive_remote_shift(comm) : NO_PEER;
}

static uint32_t tag_of(const struct trace_event *event)
{
    return event->tag >= 0 ? (uint32_t)event->tag : OTF2_UNDEFINED_UINT32;
}

void writing_begin_request(struct writing *it, struct archive_lane *lane,
                           const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    /* Whether a receive from any rank gets a message is known when it completes. */
    if (event->kind == TRACE_IRECV_REQUEST && event->comm != TRACE_NONE &&
        (peer != NO_PEER || event->peer == TRACE_ANY))
        ARCHIVE_LANE_CALL(
            lane, OTF2_EvtWriter_MpiIrecvRequest(lane->writer, NULL, lane->time, event->request));
    else if (event->kind == TRACE_ISEND && peer != NO_PEER)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MpiIsend(lane->writer, NULL, lane->time,
                                                        (uint32_t)peer, event->comm, tag_of(event),
                                                        event->bytes, event->request));
    else
        writing_remember(it, event, &(struct trace_request){.kind = WRITING_IGNORED});
}

void writing_message(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    if (peer == NO_PEER)
        return;
    ARCHIVE_LANE_CALL(lane,
                      event->kind == TRACE_SEND
                          ? OTF2_EvtWriter_MpiSend(lane->writer, NULL, lane->time, (uint32_t)peer,
                                                   event->comm, tag_of(event), event->bytes)
                          : OTF2_EvtWriter_MpiRecv(lane->writer, NULL, lane->time, (uint32_t)peer,
                                                   event->comm, tag_of(event), event->bytes));
}

void writing_receive(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    const int64_t peer = peer_of(it, event);
    if (writing_forget(it, event->request).kind == WRITING_IGNORED)
        return;
    /* A request that was told must end: as one that was given up, if what came is not known. */
    ARCHIVE_LANE_CALL(
        lane,
        peer == NO_PEER
            ? OTF2_EvtWriter_MpiRequestCancelled(lane->writer, NULL, lane->time, event->request)
            : OTF2_EvtWriter_MpiIrecv(lane->writer, NULL, lane->time, (uint32_t)peer, event->comm,
                                      tag_of(event), event->bytes, event->request));
}

void writing_test(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    const struct trace_request request = writing_find(it, event->request);
    if (request.kind == TRACE_REQUEST_FREE)
        ARCHIVE_LANE_CALL(
            lane, OTF2_EvtWriter_MpiRequestTest(lane->writer, NULL, lane->time, event->request));
    else if (request.kind == WRITING_ACCESS)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_RmaOpTest(lane->writer, NULL, lane->time,
                                                         request.object, request.value));
    else if (request.kind == WRITING_FILE)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_IoOperationTest(lane->writer, NULL, lane->time,
                                                               request.object, request.value));
}

void writing_cancel(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    const struct trace_request request = writing_forget(it, event->request);
    if (request.kind == TRACE_REQUEST_FREE)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MpiRequestCancelled(lane->writer, NULL, lane->time,
                                                                   event->request));
    else if (request.kind == WRITING_FILE)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_IoOperationCancelled(lane->writer, NULL, lane->time,
                                                                    request.object, request.value));
}

/* ---- Collectives ----------------------------------------------------------------------------- */

/* On an intercommunicator, the root itself and the ranks of its group name none in the other. */
static uint32_t root_of(const struct writing *it, const struct trace_event *event, uint32_t number)
{
    if (number >= it->process->comm_count)
        return OTF2_COLLECTIVE_ROOT_NONE;
    const struct trace_comm *comm = &it->process->comms[number];
    const int size = comm->remote ? comm->remote_size : comm->size;
    if (event->root == TRACE_ROOT_SELF && comm->rank >= 0)
        return (uint32_t)(comm->rank + archive_local_shift(comm));
    return event->root >= 0 && event->root < size
               ? (uint32_t)(event->root + archive_remote_shift(comm))
               : OTF2_COLLECTIVE_ROOT_NONE;
}

static OTF2_CollectiveOp operation_of(const struct writing *it, uint32_t function)
{
    return function < it->process->function_count ? it->functions[function].operation
                                                  : OTF2_COLLECTIVE_OP_BARRIER;
}

void writing_begin_collective(struct archive_lane *lane, const struct trace_event *event)
{
    struct archive_call *call = archive_lane_call(lane);
    if (!call || call->is_collective || event->comm == TRACE_NONE)
        return;
    call->is_collective = true;
    call->comm = event->comm;
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MpiCollectiveBegin(lane->writer, NULL, lane->time));
}

void writing_end_collective(struct writing *it, struct archive_lane *lane,
                            const struct trace_event *event)
{
    writing_begin_collective(lane, event); /* where its beginning is missing */
    struct archive_call *call = archive_lane_call(lane);
    if (!call || !call->is_collective)
        return;
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MpiCollectiveEnd(
                                lane->writer, NULL, lane->time, operation_of(it, call->function),
                                call->comm, root_of(it, event, call->comm), event->bytes,
                                event->received));
    call->is_collective = false;
}

void writing_nonblocking(struct writing *it, struct archive_lane *lane,
                         const struct trace_event *event)
{
    if (event->kind == TRACE_ICOLLECTIVE_REQUEST) {
        if (event->comm == TRACE_NONE)
            writing_remember(it, event, &(struct trace_request){.kind = WRITING_IGNORED});
        else
            ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_NonBlockingCollectiveRequest(
                                        lane->writer, NULL, lane->time, event->request));
    } else if (writing_forget(it, event->request).kind == TRACE_REQUEST_FREE &&
               event->comm != TRACE_NONE) {
        ARCHIVE_LANE_CALL(lane,
                          OTF2_EvtWriter_NonBlockingCollectiveComplete(
                              lane->writer, NULL, lane->time, operation_of(it, event->function),
                              event->comm, root_of(it, event, event->comm), event->bytes,
                              event->received, event->request));
    }
}
