/* SPDX-License-Identifier: MIT */
/* See slices.h: one process after the other. */
#include "trace/slices_parts.h"

#include <stdlib.h>
#include <string.h>

/* A track that is not of a thread: slices of one region, or values of one counter. */
struct child {
    void *track; /* NULL: it has not begun */
    uint64_t depth;
};

struct process {
    struct trace_slices slices;
    void *output;
    uint32_t index;
    struct thread_slices **threads;
    struct child *regions, *counters;
};

static void *open_track(struct process *process, enum trace_track kind, uint32_t index)
{
    void *track = process->slices.format->open(process->output, process->index, kind, index);
    process->slices.failed |= !track;
    return track;
}

static struct child *find_child(struct process *process, uint32_t index, enum trace_track kind)
{
    const bool is_region = kind == TRACK_REGION;
    const struct trace_process *definitions = process->slices.process;
    if (index >= (is_region ? definitions->region_count : definitions->counter_count))
        return NULL;
    struct child *child = &(is_region ? process->regions : process->counters)[index];
    if (!child->track)
        child->track = open_track(process, kind, index);
    return child->track ? child : NULL;
}

static void add_region(struct process *process, const struct trace_event *event)
{
    const struct trace_slices_format *format = process->slices.format;
    struct child *child = find_child(process, event->object, TRACK_REGION);
    char room[TRACE_NAME_SIZE];
    if (!child || (event->kind == TRACE_REGION_END && !child->depth))
        return;
    if (event->kind == TRACE_REGION_BEGIN) {
        child->depth++;
        format->event(child->track, SLICE_BEGIN);
        format->name(child->track, 1, trace_object_name(process->slices.process, event, room));
        format->category(child->track, 1, "region");
    } else {
        child->depth--;
        format->event(child->track, SLICE_END);
    }
    format->write(child->track, event->time);
}

static void add_counter(struct process *process, const struct trace_event *event)
{
    const struct trace_slices_format *format = process->slices.format;
    struct child *child = find_child(process, event->object, TRACK_COUNTER);
    if (!child)
        return;
    format->event(child->track, COUNTER);
    format->value(child->track, event->value);
    format->write(child->track, event->time);
}

static struct thread_slices *find_thread(struct process *process, uint32_t location)
{
    struct thread_slices **thread = &process->threads[location];
    if (*thread)
        return *thread;
    void *track = open_track(process, TRACK_THREAD, location);
    *thread = track ? trace_thread_slices_make(&process->slices, track) : NULL;
    if (track && !*thread) {
        process->slices.format->close(track);
        process->slices.failed = true;
    }
    return *thread;
}

static void add_event(struct process *process, const struct trace_event *event, uint64_t message)
{
    if (event->kind == TRACE_REGION_BEGIN || event->kind == TRACE_REGION_END) {
        add_region(process, event);
    } else if (event->kind == TRACE_COUNTER) {
        add_counter(process, event);
    } else if (event->location < process->slices.process->location_count) {
        struct thread_slices *thread = find_thread(process, event->location);
        if (thread)
            trace_thread_slices_add(thread, event, message);
    }
}

/* What is in progress lasts until the end of the process. */
static void end_tracks(struct process *process, int64_t time)
{
    const struct trace_slices_format *format = process->slices.format;
    const struct trace_process *definitions = process->slices.process;
    char room[TRACE_NAME_SIZE];
    for (size_t i = 0; i < definitions->location_count; i++)
        trace_thread_slices_end(process->threads[i], time);
    for (size_t i = 0; i < definitions->region_count; i++) {
        struct child *child = &process->regions[i];
        for (; child->depth; child->depth--) {
            format->event(child->track, SLICE_END);
            format->text(child->track, ARGUMENT_UNFINISHED, 1, trace_end_name(definitions, room));
            format->write(child->track, time);
        }
        if (child->track)
            format->close(child->track);
    }
    for (size_t i = 0; i < definitions->counter_count; i++) {
        if (process->counters[i].track)
            format->close(process->counters[i].track);
    }
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

static bool start_process(struct process *process)
{
    const struct trace_process *definitions = process->slices.process;
    process->threads = calloc(definitions->location_count + 1, sizeof(struct thread_slices *));
    process->regions = calloc(definitions->region_count + 1, sizeof *process->regions);
    process->counters = calloc(definitions->counter_count + 1, sizeof *process->counters);
    process->slices.groups = find_groups(definitions);
    return process->threads && process->regions && process->counters && process->slices.groups;
}

static void free_process(struct process *process)
{
    free(process->slices.groups);
    free(process->threads);
    free(process->regions);
    free(process->counters);
}

static void add_events(struct process *process, FILE *stream)
{
    const struct trace_view *view = process->slices.export->view;
    struct trace_view_stream *events = trace_view_stream_make(view, process->index);
    struct trace_event event;
    uint64_t message;
    process->slices.failed |= !events;
    while (events && !ferror(stream) && trace_view_stream_next(events, &event, &message))
        add_event(process, &event, message);
    process->slices.failed |= events && trace_view_stream_failed(events);
    trace_view_stream_free(events);
    end_tracks(process, trace_view_end_of(view, process->index));
}

bool trace_slices_write(const struct trace_export *export, const struct trace_slices_format *format,
                        FILE *stream, void *output)
{
    const struct trace *trace = export->view->trace;
    bool good = true;
    for (uint32_t i = 0; i < trace->process_count && good && !ferror(stream); i++) {
        if (!trace_view_has(export->view, i))
            continue;
        struct process process = {.slices = {export, format, &trace->processes[i], NULL, false},
                                  .output = output,
                                  .index = i};
        good = start_process(&process);
        if (good) {
            format->begin_process(output, i);
            add_events(&process, stream);
            good = !process.slices.failed;
        }
        free_process(&process);
    }
    return good;
}
