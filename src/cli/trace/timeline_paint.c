/* SPDX-License-Identifier: MIT */
/* See timeline.h. */
#define _GNU_SOURCE
#include "cli/trace/timeline.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* A thread that is being painted. */
struct painter {
    struct timeline *timeline;
    double *times; /* by column and function; the last one: outside of MPI */
    int room;      /* functions in `times` */
    int64_t last;
    uint16_t *open; /* the calls in progress */
    int open_count;
    bool has_begun;
};

static uint16_t find_function(struct timeline *timeline, const struct trace_process *process,
                              uint32_t index)
{
    const char *name = trace_function_name(process, index);
    for (int i = 0; i < timeline->function_count; i++) {
        if (!strcmp(timeline->functions[i].name, name))
            return (uint16_t)i;
    }
    timeline->functions =
        qmpi_grow(timeline->functions, timeline->function_count, sizeof *timeline->functions);
    timeline->functions[timeline->function_count] =
        (struct function){.name = name, .group = trace_function_group(process, index)};
    return (uint16_t)timeline->function_count++;
}

int64_t timeline_column(const struct timeline *timeline, int column)
{
    return timeline->begin +
           (int64_t)((double)(timeline->end - timeline->begin) * column / timeline->columns);
}

static void make_room(struct painter *painter, int functions)
{
    if (functions < painter->room)
        return;
    const int columns = painter->timeline->columns, room = 2 * functions + 8;
    double *larger = qmpi_allocate((size_t)columns * (size_t)(room + 1), sizeof *larger);
    for (int i = 0; painter->times && i < columns; i++) {
        for (int k = 0; k < painter->room; k++)
            larger[i * (room + 1) + k] = painter->times[i * (painter->room + 1) + k];
        larger[i * (room + 1) + room] = painter->times[i * (painter->room + 1) + painter->room];
    }
    free(painter->times);
    painter->times = larger;
    painter->room = room;
}

static int column_of(const struct timeline *timeline, int64_t time)
{
    const double at = (double)(time - timeline->begin) / (double)(timeline->end - timeline->begin) *
                      timeline->columns;
    int column = at < 0 ? 0 : at >= timeline->columns ? timeline->columns - 1 : (int)at;
    while (column > 0 && timeline_column(timeline, column) > time)
        column--;
    return column;
}

/* From the last event to `time`, the thread was in the call in progress. */
static void paint(struct painter *painter, int64_t time)
{
    struct timeline *timeline = painter->timeline;
    const bool is_in = painter->open_count > 0;
    if (!painter->has_begun || time <= painter->last)
        return;
    const int function = is_in ? painter->open[painter->open_count - 1] : painter->room;
    if (is_in)
        timeline->functions[function].time += (double)(time - painter->last) * 1e-9;
    for (int column = column_of(timeline, painter->last); column < timeline->columns; column++) {
        const int64_t from = timeline_column(timeline, column),
                      to = timeline_column(timeline, column + 1);
        if (from >= time)
            break;
        const double part =
            (double)((time < to ? time : to) - (painter->last > from ? painter->last : from)) *
            1e-9;
        painter->times[column * (painter->room + 1) + function] += part;
        timeline->totals[column] += part;
        timeline->shares[column] += is_in ? part : 0;
    }
    painter->last = time;
}

static void add_event(struct painter *painter, const struct trace_process *process,
                      const struct trace_event *event)
{
    if (event->kind == TRACE_ENTER) {
        const uint16_t function = find_function(painter->timeline, process, event->function);
        make_room(painter, function + 1);
        paint(painter, event->time);
        painter->open = qmpi_grow(painter->open, painter->open_count, sizeof *painter->open);
        painter->open[painter->open_count++] = function;
    } else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) {
        paint(painter, event->time);
        painter->open_count -= painter->open_count > 0;
    }
}

/* The function that takes most of a column. */
static uint16_t judge(const struct painter *painter, int column)
{
    const double *times = &painter->times[column * (painter->room + 1)];
    double most = times[painter->room];
    uint16_t best = most > 0 ? OUTSIDE : NOTHING;
    for (int i = 0; i < painter->room; i++) {
        if (times[i] > most) {
            most = times[i];
            best = (uint16_t)i;
        }
    }
    return best;
}

static struct line *add_line(struct timeline *timeline, const struct trace_process *process,
                             uint32_t location)
{
    char name[TRACE_NAME_SIZE], thread[TRACE_NAME_SIZE];
    timeline->lines = qmpi_grow(timeline->lines, timeline->line_count, sizeof *timeline->lines);
    struct line *line = &timeline->lines[timeline->line_count++];
    trace_process_name(process, name);
    line->label = process->location_count > 1
                      ? qmpi_message("%s %s", name, trace_location_name(process, location, thread))
                      : qmpi_message("%s", name);
    line->functions = qmpi_allocate((size_t)timeline->columns, sizeof *line->functions);
    return line;
}

bool timeline_paint(struct timeline *timeline, uint32_t index)
{
    const struct trace_view *view = timeline->view;
    const struct trace_process *process = &view->trace->processes[index];
    const size_t count = process->location_count;
    int64_t begin = trace_time(view->trace, process, process->start_ticks);
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(view, index);
    struct painter *painters = qmpi_allocate(count + 1, sizeof *painters);
    begin = begin > timeline->begin ? begin : timeline->begin;
    for (size_t i = 0; i < count; i++) {
        painters[i] = (struct painter){.timeline = timeline, .last = begin, .has_begun = true};
        make_room(&painters[i], timeline->function_count);
    }
    while (stream && trace_view_stream_next(stream, &event, &message)) {
        if (event.location < count)
            add_event(&painters[event.location], process, &event);
    }
    for (size_t i = 0; i < count; i++) {
        struct line *line = add_line(timeline, process, (uint32_t)i);
        paint(&painters[i], trace_view_end_of(view, index));
        for (int column = 0; column < timeline->columns; column++)
            line->functions[column] = judge(&painters[i], column);
        free(painters[i].times);
        free(painters[i].open);
    }
    free(painters);
    const bool good = stream && !trace_view_stream_failed(stream);
    trace_view_stream_free(stream);
    return good;
}
