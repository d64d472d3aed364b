/* SPDX-License-Identifier: MIT */
/* What is made and freed, counters, and what is missing, in an archive. */
#include "trace/otf2/writing.h"

void writing_object(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    OTF2_EvtWriter *writer = lane->writer;
    switch (event->kind) {
    case TRACE_COMM_CREATE:
    case TRACE_COMM_DESTROY:
        if (event->comm >= it->process->comm_count)
            return;
        it->part->comm_events[event->comm] = 1;
        ARCHIVE_LANE_CALL(lane,
                          event->kind == TRACE_COMM_CREATE
                              ? OTF2_EvtWriter_CommCreate(writer, NULL, lane->time, event->comm)
                              : OTF2_EvtWriter_CommDestroy(writer, NULL, lane->time, event->comm));
        return;
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        if (event->object >= it->process->window_count)
            return;
        it->part->window_events[event->object] = 1;
        ARCHIVE_LANE_CALL(
            lane, event->kind == TRACE_WIN_CREATE
                      ? OTF2_EvtWriter_RmaWinCreate(writer, NULL, lane->time, event->object)
                      : OTF2_EvtWriter_RmaWinDestroy(writer, NULL, lane->time, event->object));
        return;
    default:
        if (event->object >= it->process->file_count)
            return;
        ARCHIVE_LANE_CALL(
            lane, event->kind == TRACE_FILE_OPEN
                      ? OTF2_EvtWriter_IoCreateHandle(
                            writer, NULL, lane->time, event->object, OTF2_IO_ACCESS_MODE_READ_WRITE,
                            OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE)
                      : OTF2_EvtWriter_IoDestroyHandle(writer, NULL, lane->time, event->object));
    }
}

void writing_state(struct writing *it, struct archive_lane *lane, const struct trace_event *event)
{
    OTF2_EvtWriter *writer = lane->writer;
    if (event->kind == TRACE_COUNTER) {
        const OTF2_Type type = OTF2_TYPE_DOUBLE;
        OTF2_MetricValue value;
        value.floating_point = event->value;
        ARCHIVE_LANE_CALL(
            lane, OTF2_EvtWriter_Metric(writer, NULL, lane->time, event->object, 1, &type, &value));
    } else if (event->kind == TRACE_FLUSH) {
        const int64_t end = trace_time(it->source->trace, it->process, event->ticks + event->bytes);
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_BufferFlush(writer, NULL, lane->time,
                                                           writing_time(it, lane, end)));
    } else if (event->kind == TRACE_DROPPED) { /* OTF2 knows it only as a time that was off */
        ARCHIVE_LANE_CALL(
            lane, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, lane->time, OTF2_MEASUREMENT_OFF));
        ARCHIVE_LANE_CALL(
            lane, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, lane->time, OTF2_MEASUREMENT_ON));
    } else {
        ARCHIVE_LANE_CALL(lane, OTF2_EvtWriter_MeasurementOnOff(writer, NULL, lane->time,
                                                                event->kind == TRACE_OFF
                                                                    ? OTF2_MEASUREMENT_OFF
                                                                    : OTF2_MEASUREMENT_ON));
    }
}
