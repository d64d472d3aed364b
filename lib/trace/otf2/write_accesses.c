/* SPDX-License-Identifier: MIT */
/* One-sided accesses and files in an archive. Each access has a number there, by which its records
 * belong together. */
#include "trace/otf2/writing.h"

/* ---- One-sided accesses and files ------------------------------------------------------------ */

void writing_access(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    const uint32_t window = event->object;
    if (event->peer < 0 || window == TRACE_NONE) {
        writing_remember(it, event, &(struct trace_request){.kind = WRITING_IGNORED});
        return;
    }
    const uint64_t matching = it->matching++;
    const uint32_t peer = (uint32_t)event->peer;
    writing_remember(
        it, event,
        &(struct trace_request){.kind = WRITING_ACCESS, .object = window, .value = matching});
    OTF2_EvtWriter *writer = lane->writer;
    if (event->kind == TRACE_RMA_PUT && !event->received) {
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_RmaPut(writer, NULL, lane->time, window, peer,
                                                      event->bytes, matching));
    } else if (event->kind == TRACE_RMA_GET) {
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_RmaGet(writer, NULL, lane->time, window, peer,
                                                      event->received, matching));
    } else {
        const struct archive_call *call = archive_lane_call(lane);
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_RmaAtomic(writer, NULL, lane->time, window, peer,
                                                         call ? it->functions[call->function].atomic
                                                              : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
                                                         event->bytes, event->received, matching));
    }
}

void writing_complete_access(struct writing *it, struct archive_lane *lane,
                             const struct trace_event *event)
{
    const struct trace_request request = writing_forget(it, event->request);
    if (request.kind == WRITING_ACCESS)
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_RmaOpCompleteNonBlocking(
                                    lane->writer, NULL, lane->time, request.object, request.value));
}

static void begin_file_access(struct writing *it, struct archive_lane *lane,
                              const struct trace_event *event, uint64_t bytes, uint64_t matching)
{
    const struct archive_call *call = archive_lane_call(lane);
    const struct archive_function *function = call ? &it->functions[call->function] : NULL;
    const bool writes = event->bytes || (!event->received && function && function->writes_file);
    OTF2_IoOperationFlag flags = OTF2_IO_OPERATION_FLAG_NONE;
    if (event->request != TRACE_NO_REQUEST)
        flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
    if (function && function->is_collective_access)
        flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
    ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_IoOperationBegin(
                                lane->writer, NULL, lane->time, event->object,
                                writes ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_READ,
                                flags, bytes, matching));
}

static void complete_file_access(struct archive_lane *lane, const struct trace_event *event,
                                 uint32_t file, uint64_t matching)
{
    ARCHIVE_LANE_CALL(lane,
                      OTF2_EvtWriter_IoOperationComplete(lane->writer, NULL, lane->time, file,
                                                         event->bytes + event->received, matching));
}

void writing_file_access(struct writing *it, struct archive_lane *lane,
                         const struct trace_event *event)
{
    const uint64_t matching = it->matching++;
    begin_file_access(it, lane, event, event->bytes + event->received, matching);
    lane->time = writing_time(it, lane, event->time);
    complete_file_access(lane, event, event->object, matching);
}

void writing_file_event(struct writing *it, struct archive_lane *lane,
                        const struct trace_event *event)
{
    if (event->kind == TRACE_IO_REQUEST) {
        if (event->object == TRACE_NONE) {
            writing_remember(it, event, &(struct trace_request){.kind = WRITING_IGNORED});
            return;
        }
        const uint64_t matching = it->matching++;
        writing_remember(it, event,
                         &(struct trace_request){
                             .kind = WRITING_FILE, .object = event->object, .value = matching});
        begin_file_access(it, lane, event, OTF2_UNDEFINED_UINT64, matching);
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_IoOperationIssued(lane->writer, NULL, lane->time,
                                                                 event->object, matching));
    } else if (event->request != TRACE_NO_REQUEST) {
        const struct trace_request request = writing_forget(it, event->request);
        if (request.kind == WRITING_FILE)
            complete_file_access(lane, event, request.object, request.value);
    } else if (event->object != TRACE_NONE) {
        /* Its beginning was not written with that of the call. */
        writing_file_access(it, lane, event);
    }
}
