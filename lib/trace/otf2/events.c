/* SPDX-License-Identifier: MIT */
/* See events.h: calls and regions, and what is told of them in the order of time. */
#include "trace/otf2/events.h"

#include "trace/map.h"
#include "trace/otf2/archive.h"
#include "trace/otf2/attributes.h"
#include "trace/otf2/writing.h"

#include <stdlib.h>

enum { FEW_EVENTS = 50000 }; /* libotf2 has all of them in its buffer of 4 MiB at the end */

OTF2_TimeStamp writing_time(const struct writing *it, const struct archive_lane *lane, int64_t time)
{
    const int64_t since = archive_subtract_times(time, it->source->begin);
    return since > 0 && (uint64_t)since > lane->time ? (uint64_t)since : lane->time;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void write_enter(struct writing *it, struct archive_lane *lane,
                        const struct trace_event *event)
{
    OTF2_AttributeList *attributes = NULL;
    if (event->site < it->process->site_count && it->process->sites[event->site].count) {
        const struct trace_site *site = &it->process->sites[event->site];
        attributes = it->attributes;
        ARCHIVE_LANE_CALL(lane, OTF2_AttributeList_AddSourceCodeLocationRef(
                                    attributes, ARCHIVE_ATTRIBUTE_SITE, event->site));
        if (site->count > 1)
            ARCHIVE_LANE_CALL(lane, OTF2_AttributeList_AddCallingContextRef(
                                        attributes, ARCHIVE_ATTRIBUTE_CONTEXT, event->site));
    }
    lane->time = writing_time(it, lane, event->time);
    archive_lane_enter(lane, attributes, event->function);
    if (attributes)
        OTF2_AttributeList_RemoveAllAttributes(attributes);
}

static void leave(struct writing *it, struct archive_lane *lane)
{
    const struct archive_call *call = archive_lane_call(lane);
    if (call && call->is_collective) { /* it failed, or the process ended in it */
        struct trace_event event;
        trace_event_clear(&event, TRACE_COLLECTIVE_END, 0);
        writing_end_collective(it, lane, &event);
    }
    archive_lane_leave(lane);
}

/* A call that accesses a file is written when what follows it is known: the access begins with it,
 * and what it has moved is told at its end. */
static bool write_entered(struct writing *it, struct archive_lane *lane,
                          const struct trace_event *next)
{
    if (!lane->has_entered)
        return false;
    lane->has_entered = false;
    write_enter(it, lane, &lane->entered);
    if (next->kind != TRACE_IO || next->request != TRACE_NO_REQUEST || next->object == TRACE_NONE)
        return false;
    writing_file_access(it, lane, next);
    return true;
}

/* Regions belong to the process: another thread may end what one has begun. */
static void change_region(struct writing *it, struct archive_lane *lane,
                          const struct trace_event *event)
{
    const uint32_t number = (uint32_t)it->process->function_count + event->object;
    struct writing_region *region = &it->regions[event->object];
    if (event->kind == TRACE_REGION_BEGIN) {
        if (region->count++)
            return;
        region->lane = (uint32_t)(lane - it->lanes);
        archive_lane_change(lane, number, true);
    } else if (region->count && !--region->count) {
        struct archive_lane *other = &it->lanes[region->lane];
        write_entered(it, other, event);
        other->time = writing_time(it, other, event->time);
        archive_lane_change(other, number, false);
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

static void write_event(struct writing *it, struct archive_lane *lane,
                        const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->function >= it->process->function_count)
            return;
        if (it->functions[event->function].accesses_file) {
            lane->entered = *event;
            lane->has_entered = true;
        } else {
            write_enter(it, lane, event);
        }
        return;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        leave(it, lane);
        return;
    case TRACE_SEND:
    case TRACE_RECV:
        writing_message(it, lane, event);
        return;
    case TRACE_ISEND:
    case TRACE_IRECV_REQUEST:
        writing_begin_request(it, lane, event);
        return;
    case TRACE_ISEND_COMPLETE:
        if (writing_forget(it, event->request).kind == TRACE_REQUEST_FREE)
            ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MpiIsendComplete(lane->writer, NULL, lane->time,
                                                                    event->request));
        return;
    case TRACE_IRECV:
        writing_receive(it, lane, event);
        return;
    case TRACE_REQUEST_TEST:
        writing_test(it, lane, event);
        return;
    case TRACE_REQUEST_CANCELLED:
        writing_cancel(it, lane, event);
        return;
    case TRACE_REQUEST_FREED:
        writing_forget(it, event->request);
        return;
    case TRACE_COLLECTIVE_BEGIN:
        writing_begin_collective(lane, event);
        return;
    case TRACE_COLLECTIVE_END:
        writing_end_collective(it, lane, event);
        return;
    case TRACE_ICOLLECTIVE_REQUEST:
    case TRACE_ICOLLECTIVE_COMPLETE:
        writing_nonblocking(it, lane, event);
        return;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        writing_access(it, lane, event);
        return;
    case TRACE_RMA_COMPLETE:
        writing_complete_access(it, lane, event);
        return;
    case TRACE_IO_REQUEST:
    case TRACE_IO:
        writing_file_event(it, lane, event);
        return;
    case TRACE_COMM_CREATE:
    case TRACE_COMM_DESTROY:
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        writing_object(it, lane, event);
        return;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        if (event->object < it->process->region_count)
            change_region(it, lane, event);
        return;
    case TRACE_COUNTER:
    case TRACE_OFF:
    case TRACE_ON:
    case TRACE_DROPPED:
    case TRACE_FLUSH:
        writing_state(it, lane, event);
        return;
    case TRACE_CALL_OBJECT:
    case TRACE_KINDS:
        return;
    }
}

static void write_all(struct writing *it)
{
    const struct archive_source *source = it->source;
    struct trace_event event;
    struct trace_cursor *cursor =
        trace_cursor_make(source->trace, source->process, TRACE_NONE, source->selection);
    it->failed |= !cursor;
    while (!it->failed && trace_cursor_next(cursor, &event, NULL)) {
        if (event.location >= it->lane_count)
            continue;
        struct archive_lane *lane = &it->lanes[event.location];
        const bool is_written = write_entered(it, lane, &event);
        lane->time = writing_time(it, lane, event.time);
        if (!is_written)
            write_event(it, lane, &event);
        it->failed |= lane->error != OTF2_SUCCESS;
    }
    if (cursor)
        trace_cursor_free(cursor);
}

/* Calls and regions that did not end last until the process did. */
static void end_lane(struct writing *it, struct archive_lane *lane, int64_t end)
{
    struct trace_event last;
    trace_event_clear(&last, TRACE_KINDS, 0);
    write_entered(it, lane, &last);
    lane->time = writing_time(it, lane, end);
    while (lane->depth)
        leave(it, lane);
    archive_lane_end(lane);
    it->failed |= lane->error != OTF2_SUCCESS;
}

static void end_all(struct writing *it)
{
    const struct archive_source *source = it->source;
    int64_t end = trace_time(source->trace, it->process, it->process->end_ticks);
    if (source->selection && source->selection->has_end && end > source->selection->end)
        end = source->selection->end;
    for (size_t i = 0; i < it->lane_count; i++)
        end_lane(it, &it->lanes[i], end);
}

static bool prepare(struct writing *it, OTF2_Archive *archive)
{
    const struct trace_process *process = it->process;
    it->lane_count = archive_thread_count(it->part);
    it->lanes = calloc(it->lane_count, sizeof *it->lanes);
    it->functions = calloc(process->function_count + 1, sizeof *it->functions);
    it->regions = calloc(process->region_count + 1, sizeof *it->regions);
    it->attributes = OTF2_AttributeList_New();
    if (!it->lanes || !it->functions || !it->regions || !it->attributes)
        return false;
    for (size_t i = 0; i < process->function_count; i++)
        it->functions[i] = archive_describe(&process->functions[i]);
    for (size_t i = 0; i < it->lane_count; i++) {
        it->lanes[i].writer = OTF2_Archive_GetEvtWriter(archive, archive_location(it->part, i));
        if (!it->lanes[i].writer)
            return false;
    }
    return true;
}

OTF2_ErrorCode archive_write_nothing(OTF2_EvtWriter *writer)
{
    return OTF2_EvtWriter_MeasurementOnOff(writer, NULL, 0, OTF2_MEASUREMENT_OFF);
}

/* A file is closed only if nothing has failed, and there is room for what libotf2 still has in
 * memory. */
static OTF2_ErrorCode close_lane(const struct writing *it, OTF2_Archive *archive, size_t index,
                                 uint64_t *events)
{
    struct archive_lane *lane = &it->lanes[index];
    if (lane->writer && !it->failed) {
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_GetNumberOfEvents(lane->writer, events));
        if (!*events) {
            ARCHIVE_LANE_CALL(lane, archive_write_nothing(lane->writer));
            *events = 1;
        }
        if (*events > FEW_EVENTS &&
            !archive_has_room(it->source->directory, archive_location(it->part, index)))
            ARCHIVE_LANE_CALL(lane, OTF2_ERROR_ENOSPC);
        ARCHIVE_LANE_CALL(lane, OTF2_Archive_CloseEvtWriter(archive, lane->writer));
    }
    const OTF2_ErrorCode error = lane->error;
    archive_lane_clear(lane);
    return error;
}

OTF2_ErrorCode archive_write_events(OTF2_Archive *archive, const struct archive_source *source,
                                    struct archive_part *part)
{
    struct writing it = {.source = source, .process = part->process, .part = part};
    it.failed = !prepare(&it, archive);
    if (!it.failed)
        write_all(&it);
    if (!it.failed)
        end_all(&it);
    OTF2_ErrorCode error = OTF2_SUCCESS;
    for (size_t i = 0; it.lanes && i < it.lane_count; i++) {
        const OTF2_ErrorCode its = close_lane(&it, archive, i, &part->events[i]);
        error = error == OTF2_SUCCESS ? its : error;
    }
    if (it.failed && error == OTF2_SUCCESS)
        error = OTF2_ERROR_MEM_ALLOC_FAILED;
    if (it.attributes)
        OTF2_AttributeList_Delete(it.attributes);
    trace_pending_clear(&it.requests);
    free(it.lanes);
    free(it.functions);
    free(it.regions);
    return error;
}
