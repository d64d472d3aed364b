/* SPDX-License-Identifier: MIT */
/* See perfetto.h: events of tracks as messages of the type TrackEvent. */
#include "trace/perfetto.h"

#include "trace/perfetto_parts.h"

#include <stdlib.h>

enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_DEBUG_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_DOUBLE_COUNTER_VALUE = 44,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48,
    EVENT_CORRELATION_ID = 52
};
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_INT = 4, ANNOTATION_STRING_IID = 17 };

static void *open_track(void *data, uint32_t process, enum trace_track kind, uint32_t index)
{
    struct perfetto_output *output = data;
    struct perfetto_sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence)
        return NULL;
    sequence->output = output;
    sequence->id = trace_perfetto_sequence(output, process, kind, index);
    trace_perfetto_start(sequence, trace_perfetto_describe_track(output, process, kind, index));
    return sequence;
}

static void close_track(void *track)
{
    trace_perfetto_stop(track);
    free(track);
}

static void begin_process(void *output, uint32_t process)
{
    trace_perfetto_describe_process(output, process);
}

static void begin_event(void *track, enum trace_track_event type)
{
    struct perfetto_sequence *sequence = track;
    sequence->event.size = 0;
    protobuf_varint(&sequence->event, EVENT_TYPE, type);
}

static void add_name(void *track, uint64_t iid, const char *text)
{
    struct perfetto_sequence *sequence = track;
    trace_perfetto_intern(sequence, INTERNED_NAME, iid, text);
    protobuf_varint(&sequence->event, EVENT_NAME_IID, iid);
}

static void add_category(void *track, uint64_t iid, const char *text)
{
    struct perfetto_sequence *sequence = track;
    trace_perfetto_intern(sequence, INTERNED_CATEGORY, iid, text);
    protobuf_varint(&sequence->event, EVENT_CATEGORY_IIDS, iid);
}

static void add_annotation(struct perfetto_sequence *sequence, enum trace_argument argument,
                           uint32_t field, uint64_t value)
{
    struct protobuf *entry = &sequence->output->entry;
    entry->size = 0;
    protobuf_varint(entry, ANNOTATION_NAME_IID, argument);
    protobuf_varint(entry, field, value);
    protobuf_message(&sequence->event, EVENT_DEBUG_ANNOTATIONS, entry);
}

static void add_number(void *track, enum trace_argument argument, int64_t value)
{
    add_annotation(track, argument, ANNOTATION_INT, (uint64_t)value);
}

static void add_text(void *track, enum trace_argument argument, uint64_t iid, const char *text)
{
    trace_perfetto_intern(track, INTERNED_STRING, iid, text);
    add_annotation(track, argument, ANNOTATION_STRING_IID, iid);
}

static bool has_text(void *track, uint64_t iid)
{
    return trace_perfetto_has(track, INTERNED_STRING, iid);
}

static void add_correlation(void *track, uint64_t id)
{
    struct perfetto_sequence *sequence = track;
    protobuf_varint(&sequence->event, EVENT_CORRELATION_ID, id);
}

/* An end without a begin, or a begin without an end, is ignored by viewers. */
static void add_flow(void *track, uint64_t id, bool is_end)
{
    struct perfetto_sequence *sequence = track;
    protobuf_fixed64(&sequence->event, is_end ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS, id);
}

static void add_value(void *track, double value)
{
    struct perfetto_sequence *sequence = track;
    protobuf_double(&sequence->event, EVENT_DOUBLE_COUNTER_VALUE, value);
}

static void write_event(void *track, int64_t time)
{
    trace_perfetto_write(track, time);
}

bool trace_write_perfetto(FILE *stream, const struct trace_export *export)
{
    static const struct trace_slices_format format = {.begin_process = begin_process,
                                                      .open = open_track,
                                                      .close = close_track,
                                                      .event = begin_event,
                                                      .name = add_name,
                                                      .category = add_category,
                                                      .number = add_number,
                                                      .text = add_text,
                                                      .has_text = has_text,
                                                      .correlation = add_correlation,
                                                      .flow = add_flow,
                                                      .value = add_value,
                                                      .write = write_event};
    struct perfetto_output output = {
        .stream = stream, .export = export, .base = export->view->trace->base};
    trace_perfetto_begin(&output);
    const bool good = trace_slices_write(export, &format, stream, &output);
    trace_perfetto_end(&output);
    return good && !output.failed;
}
