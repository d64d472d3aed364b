/* SPDX-License-Identifier: MIT */
/* See json.h: slices of threads are events B and E, those of regions b and e. */
#include "trace/json.h"

#include "trace/json_text.h"
#include "trace/slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct output {
    FILE *stream;
    const struct trace_export *export;
    const char *separator; /* before the next event */
};

struct track {
    struct output *output;
    int64_t process, thread; /* their numbers */
    enum trace_track kind;
    uint32_t index;
    const char *name; /* of a region or a counter; or `room` */
    char room[TRACE_NAME_SIZE];

    /* Of the event that is being made. */
    enum trace_track_event type;
    const char *separator; /* before its next argument; NULL: it has none yet */
    uint64_t flow;         /* 0: none */
    bool is_flow_end;
};

/* ---- Events ---------------------------------------------------------------------------------- */

static void begin(struct output *output, int64_t process, int64_t thread)
{
    fprintf(output->stream, "%s\n{\"pid\":%" PRId64 ",\"tid\":%" PRId64, output->separator, process,
            thread);
    output->separator = ",";
}

static void end(struct output *output, char phase, int64_t time)
{
    fprintf(output->stream, ",\"ph\":\"%c\",\"ts\":", phase);
    trace_json_time(output->stream, time);
    putc_unlocked('}', output->stream);
}

static void add_member(FILE *stream, const char *member, const char *text)
{
    fprintf(stream, ",\"%s\":", member);
    trace_json_string(stream, text);
}

static void begin_event(void *data, enum trace_track_event type)
{
    struct track *track = data;
    FILE *stream = track->output->stream;
    track->type = type;
    track->separator = NULL;
    track->flow = 0;
    begin(track->output, track->process, track->thread);
    if (track->kind == TRACK_THREAD)
        return;
    add_member(stream, "name", track->name);
    if (track->kind == TRACK_REGION)
        fprintf(stream, ",\"cat\":\"region\",\"id2\":{\"local\":\"0x%x\"}", track->index + 1);
}

static void add_name(void *data, uint64_t id, const char *text)
{
    const struct track *track = data;
    (void)id;
    if (track->kind == TRACK_THREAD)
        add_member(track->output->stream, "name", text);
}

static void add_category(void *data, uint64_t id, const char *text)
{
    const struct track *track = data;
    (void)id;
    if (track->kind == TRACK_THREAD)
        add_member(track->output->stream, "cat", *text ? text : "none");
}

static const char **separator(struct track *track)
{
    if (!track->separator) {
        fputs(",\"args\":{", track->output->stream);
        track->separator = "";
    }
    return &track->separator;
}

static void add_number(void *data, enum trace_argument argument, int64_t value)
{
    struct track *track = data;
    trace_json_member_number(track->output->stream, separator(track),
                             trace_argument_names[argument], value);
}

static void add_text(void *data, enum trace_argument argument, uint64_t id, const char *text)
{
    struct track *track = data;
    (void)id;
    trace_json_member_string(track->output->stream, separator(track),
                             trace_argument_names[argument], text);
}

static bool has_text(void *data, uint64_t id)
{
    (void)data;
    (void)id;
    return false;
}

static void add_correlation(void *data, uint64_t id)
{
    add_number(data, ARGUMENT_CORRELATION, (int64_t)id);
}

static void add_flow(void *data, uint64_t id, bool is_end)
{
    struct track *track = data;
    track->flow = id;
    track->is_flow_end = is_end;
}

static void add_value(void *data, double value)
{
    const struct track *track = data;
    if (isfinite(value))
        fprintf(track->output->stream, ",\"args\":{\"value\":%.17g}", value);
    else /* JSON has no such number */
        fputs(",\"args\":{\"value\":null}", track->output->stream);
}

/* An instant with a flow is a slice without duration: viewers lead arrows from slice to slice. */
static void write_flow(const struct track *track, int64_t time)
{
    begin(track->output, track->process, track->thread);
    fprintf(track->output->stream,
            ",\"name\":\"message\",\"cat\":\"message\",\"id\":\"0x%" PRIx64 "\"%s", track->flow,
            track->is_flow_end ? ",\"bp\":\"e\"" : "");
    end(track->output, track->is_flow_end ? 'f' : 's', time);
    begin(track->output, track->process, track->thread);
    end(track->output, 'E', time);
}

static void write_event(void *data, int64_t time)
{
    struct track *track = data;
    const bool is_region = track->kind == TRACK_REGION;
    if (track->separator)
        putc_unlocked('}', track->output->stream);
    switch (track->type) {
    case SLICE_BEGIN:
        end(track->output, is_region ? 'b' : 'B', time);
        break;
    case SLICE_END:
        end(track->output, is_region ? 'e' : 'E', time);
        break;
    case COUNTER:
        end(track->output, 'C', time);
        break;
    case INSTANT:
        if (!track->flow)
            fputs(",\"s\":\"t\"", track->output->stream);
        end(track->output, track->flow ? 'B' : 'i', time);
        if (track->flow)
            write_flow(track, time);
        break;
    }
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void metadata(struct output *output, int64_t process, int64_t thread, const char *kind,
                     const char *text, uint32_t order)
{
    begin(output, process, thread);
    fprintf(output->stream, ",\"name\":\"%s_name\",\"args\":{\"name\":", kind);
    trace_json_string(output->stream, text);
    putc_unlocked('}', output->stream);
    end(output, 'M', 0);
    begin(output, process, thread);
    fprintf(output->stream, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%u}", kind,
            order);
    end(output, 'M', 0);
}

static void begin_process(void *data, uint32_t process)
{
    struct output *output = data;
    const struct trace_view *view = output->export->view;
    const struct trace_process *it = &view->trace->processes[process];
    const int64_t number = trace_process_number(view, process);
    char room[TRACE_NAME_SIZE], text[2 * TRACE_NAME_SIZE];
    snprintf(text, sizeof text, "%s (%s)", trace_process_name(it, room),
             it->host ? it->host : "unknown host");
    metadata(output, number, number, "process", text, trace_position(view, process));
    snprintf(text, sizeof text, "process id %" PRId64 ",%s%s,ended by: %s", it->pid,
             it->program ? it->program : "", it->program ? "" : "unknown program",
             trace_end_name(it, room));
    begin(output, number, number);
    fputs(",\"name\":\"process_labels\",\"args\":{\"labels\":", output->stream);
    trace_json_string(output->stream, text);
    putc_unlocked('}', output->stream);
    end(output, 'M', 0);
}

static void *open_track(void *data, uint32_t process, enum trace_track kind, uint32_t index)
{
    struct output *output = data;
    const struct trace_view *view = output->export->view;
    const struct trace_process *it = &view->trace->processes[process];
    const struct trace_event event = {
        .kind = kind == TRACK_REGION ? TRACE_REGION_BEGIN : TRACE_COUNTER, .object = index};
    struct track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    track->output = output;
    track->process = trace_process_number(view, process);
    track->thread =
        kind == TRACK_THREAD ? trace_thread_number(view, process, index) : track->process;
    track->kind = kind;
    track->index = index;
    if (kind == TRACK_THREAD)
        metadata(output, track->process, track->thread, "thread",
                 trace_location_name(it, index, track->room), index);
    else
        track->name = trace_object_name(it, &event, track->room);
    return track;
}

static void close_track(void *track)
{
    free(track);
}

bool trace_write_json(FILE *stream, const struct trace_export *export)
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
    struct output output = {.stream = stream, .export = export, .separator = ""};
    fputs("{\"otherData\":{\"creator\":\"" TRACE_EXPORT_MARK "\"},\"displayTimeUnit\":\"ns\","
          "\"traceEvents\":[",
          stream);
    if (!trace_slices_write(export, &format, stream, &output))
        return false;
    fputs("\n]}\n", stream);
    return true;
}
