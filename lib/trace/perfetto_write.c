/* SPDX-License-Identifier: MIT */
/* See perfetto.h: one process after the other. */
#include "trace/perfetto.h"

#include "trace/perfetto_parts.h"

#include <stdlib.h>
#include <string.h>

/* A track of a process: slices of one region, or values of one counter. */
struct child {
    struct perfetto_sequence sequence;
    uint64_t depth; /* of slices */
};

struct process {
    struct perfetto_output *output;
    uint32_t index;
    const struct trace_process *definitions;
    struct perfetto_thread **threads;
    struct child *regions, *counters;
};

static struct child *find_child(struct process *process, uint32_t index, bool is_region)
{
    const size_t count =
        is_region ? process->definitions->region_count : process->definitions->counter_count;
    if (index >= count)
        return NULL;
    struct child *child = &(is_region ? process->regions : process->counters)[index];
    if (child->sequence.id)
        return child;
    if (is_region)
        perfetto_describe_region(process->output, process->index, index);
    else
        perfetto_describe_counter(process->output, process->index, index);
    perfetto_start(process->output, &child->sequence,
                   perfetto_track(process->output, process->index,
                                  is_region ? TRACK_REGION : TRACK_COUNTER, index));
    return child;
}

static void add_region(struct process *process, const struct trace_event *event)
{
    struct child *child = find_child(process, event->object, true);
    char room[TRACE_NAME_SIZE];
    if (!child || (event->kind == TRACE_REGION_END && !child->depth))
        return;
    if (event->kind == TRACE_REGION_BEGIN) {
        child->depth++;
        perfetto_event(&child->sequence, SLICE_BEGIN);
        perfetto_name(&child->sequence, 1, trace_object_name(process->definitions, event, room));
        perfetto_category(&child->sequence, 1, "region");
    } else {
        child->depth--;
        perfetto_event(&child->sequence, SLICE_END);
    }
    perfetto_write(process->output, &child->sequence, event->time);
}

static void add_counter(struct process *process, const struct trace_event *event)
{
    struct child *child = find_child(process, event->object, false);
    if (!child)
        return;
    perfetto_event(&child->sequence, COUNTER);
    protobuf_double(&child->sequence.event, EVENT_DOUBLE_COUNTER_VALUE, event->value);
    perfetto_write(process->output, &child->sequence, event->time);
}

static void add_event(struct process *process, const struct trace_event *event, uint64_t message)
{
    if (event->kind == TRACE_REGION_BEGIN || event->kind == TRACE_REGION_END) {
        add_region(process, event);
    } else if (event->kind == TRACE_COUNTER) {
        add_counter(process, event);
    } else if (event->location < process->definitions->location_count) {
        struct perfetto_thread **thread = &process->threads[event->location];
        if (!*thread)
            *thread = perfetto_thread_make(process->output, process->index, event->location);
        if (*thread)
            perfetto_thread_add(*thread, event, message);
        else
            process->output->failed = true;
    }
}

/* What is in progress lasts until the end of the process. */
static void end_tracks(struct process *process, int64_t time)
{
    char room[TRACE_NAME_SIZE];
    for (size_t i = 0; i < process->definitions->location_count; i++)
        perfetto_thread_end(process->threads[i], time);
    for (size_t i = 0; i < process->definitions->region_count; i++) {
        struct child *child = &process->regions[i];
        for (; child->depth; child->depth--) {
            perfetto_event(&child->sequence, SLICE_END);
            perfetto_annotate_text(process->output, &child->sequence, ANNOTATION_UNFINISHED, 1,
                                   trace_end_name(process->definitions, room));
            perfetto_write(process->output, &child->sequence, time);
        }
        perfetto_stop(&child->sequence);
    }
    for (size_t i = 0; i < process->definitions->counter_count; i++)
        perfetto_stop(&process->counters[i].sequence);
}

/* NULL: memory is exhausted. */
static uint32_t *find_groups(const struct trace_process *process)
{
    uint32_t *groups = calloc(process->function_count + 1, sizeof *groups);
    for (uint32_t i = 0; groups && i < process->function_count; i++) {
        while (groups[i] < i && strcmp(trace_function_group(process, groups[i]),
                                       trace_function_group(process, i)) != 0)
            groups[i]++;
    }
    return groups;
}

static void write_process(struct perfetto_output *output, uint32_t index)
{
    const struct trace_view *view = output->export->view;
    struct process process = {output, index, &view->trace->processes[index], NULL, NULL, NULL};
    struct trace_event event;
    uint64_t message;
    process.threads =
        calloc(process.definitions->location_count + 1, sizeof(struct perfetto_thread *));
    process.regions = calloc(process.definitions->region_count + 1, sizeof *process.regions);
    process.counters = calloc(process.definitions->counter_count + 1, sizeof *process.counters);
    output->groups = find_groups(process.definitions);
    struct trace_view_stream *stream =
        output->groups && process.threads && process.regions && process.counters
            ? trace_view_stream_make(view, index)
            : NULL;
    output->failed |= !stream;
    perfetto_describe_process(output, index);
    while (stream && !ferror(output->stream) && trace_view_stream_next(stream, &event, &message))
        add_event(&process, &event, message);
    if (stream) {
        end_tracks(&process, trace_view_end_of(view, index));
        output->failed |= trace_view_stream_failed(stream);
    }
    trace_view_stream_free(stream);
    free(output->groups);
    free(process.threads);
    free(process.regions);
    free(process.counters);
}

/* Files of single processes that are joined have different sequences. */
static uint32_t first_sequence(const struct trace_view *view)
{
    enum { OF_PROCESS = 4096 };
    return view->trace->is_part && view->trace->process_count
               ? trace_position(view, 0) % (UINT32_MAX / OF_PROCESS) * OF_PROCESS
               : 0;
}

bool trace_write_perfetto(FILE *stream, const struct trace_export *export)
{
    struct perfetto_output output = {.stream = stream,
                                     .export = export,
                                     .numbers = trace_numbers_of(export->view),
                                     .base = export->view->trace->base,
                                     .sequences = first_sequence(export->view)};
    perfetto_begin(&output);
    for (uint32_t i = 0; i < export->view->trace->process_count && !ferror(stream); i++) {
        if (trace_view_has(export->view, i))
            write_process(&output, i);
    }
    perfetto_end(&output);
    return !output.failed;
}
