/* SPDX-License-Identifier: MIT */
/*
 * A timeline of a trace as text, with one line for each thread. Each column is an interval of time.
 * It shows a letter for the function in which the thread spent most of the interval, or '.' if this
 * was outside of MPI, or a space if the process had not begun or had ended. The line below the
 * threads shows the share of the time that all threads spent in MPI, in tenths.
 */
#define _GNU_SOURCE
#include "tools/trace/print/print.h"

#include "tools/profile/result/profile.h"
#include "tools/trace/export/trace.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_LEAST = 6, LABEL_MOST = 24, TICK_COLUMNS = 16, COLOURS = 6 };

#define OUTSIDE UINT16_MAX       /* the thread was outside of MPI */
#define NOTHING (UINT16_MAX - 1) /* the process had not begun, or had ended */

/* A function that the timeline shows. */
struct shown_function {
    const char *name, *group;
    double time;
    char letter;
};

struct thread_line {
    char *label;
    uint16_t *functions; /* [column] */
};

struct timeline {
    const struct trace_view *view;
    int width, columns;
    int64_t begin, end;
    struct shown_function *functions;
    int function_count;
    struct thread_line *lines;
    int line_count;
    double *shares; /* [column]: seconds in MPI, summed over all lines */
    double *totals; /* [column]: seconds, summed over all lines */
};

/* ---- Painting -------------------------------------------------------------------------------- */

/* The state of a thread while its line is painted. */
struct painter {
    struct timeline *timeline;
    double *times;  /* [column][function]: seconds; the last function stands for the time outside of
                       MPI */
    int room;       /* number of functions in `times` */
    int64_t last;   /* the time up to which the line is painted */
    uint16_t *open; /* the calls in progress */
    int open_count;
    bool has_begun;
};

static uint16_t find_function_index(struct timeline *timeline, const struct trace_process *process,
                                    uint32_t index)
{
    const char *name = trace_name_function(process, index);
    for (int i = 0; i < timeline->function_count; i++) {
        if (!strcmp(timeline->functions[i].name, name))
            return (uint16_t)i;
    }
    timeline->functions = qmpi_memory_grow(timeline->functions, timeline->function_count,
                                           sizeof *timeline->functions);
    timeline->functions[timeline->function_count] =
        (struct shown_function){.name = name, .group = trace_name_group(process, index)};
    return (uint16_t)timeline->function_count++;
}

static int64_t column_begin(const struct timeline *timeline, int column)
{
    return timeline->begin +
           (int64_t)((double)(timeline->end - timeline->begin) * column / timeline->columns);
}

static void make_room_for(struct painter *painter, int functions)
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
    while (column > 0 && column_begin(timeline, column) > time)
        column--;
    return column;
}

/* Adds the time from `last` to `time` to the call in progress, or to the time outside of MPI. */
static void paint_until(struct painter *painter, int64_t time)
{
    struct timeline *timeline = painter->timeline;
    const bool is_in = painter->open_count > 0;
    if (!painter->has_begun || time <= painter->last)
        return;
    const int function = is_in ? painter->open[painter->open_count - 1] : painter->room;
    if (is_in)
        timeline->functions[function].time += (double)(time - painter->last) * 1e-9;
    for (int column = column_of(timeline, painter->last); column < timeline->columns; column++) {
        const int64_t from = column_begin(timeline, column),
                      to = column_begin(timeline, column + 1);
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
        const uint16_t function = find_function_index(painter->timeline, process, event->function);
        make_room_for(painter, function + 1);
        paint_until(painter, event->time);
        painter->open = qmpi_memory_grow(painter->open, painter->open_count, sizeof *painter->open);
        painter->open[painter->open_count++] = function;
    } else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) {
        paint_until(painter, event->time);
        painter->open_count -= painter->open_count > 0;
    }
}

/* Returns the function in which the thread spent most of a column, or OUTSIDE or NOTHING. */
static uint16_t longest_function(const struct painter *painter, int column)
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

static struct thread_line *add_line(struct timeline *timeline, const struct trace_process *process,
                                    uint32_t location)
{
    char name[TRACE_NAME_SIZE], thread[TRACE_NAME_SIZE];
    timeline->lines =
        qmpi_memory_grow(timeline->lines, timeline->line_count, sizeof *timeline->lines);
    struct thread_line *line = &timeline->lines[timeline->line_count++];
    trace_name_process(process, name);
    line->label = process->location_count > 1
                      ? qmpi_message("%s %s", name, trace_name_location(process, location, thread))
                      : qmpi_message("%s", name);
    line->functions = qmpi_allocate((size_t)timeline->columns, sizeof *line->functions);
    return line;
}

/* Adds the lines of a process. Returns false if memory is exhausted or a file cannot be read. */
static bool paint_process(struct timeline *timeline, uint32_t index)
{
    const struct trace_view *view = timeline->view;
    const struct trace_process *process = &view->trace->processes[index];
    const size_t count = process->location_count;
    int64_t begin = trace_reader_time(view->trace, process, process->start_ticks);
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(view, index);
    struct painter *painters = qmpi_allocate(count + 1, sizeof *painters);
    begin = begin > timeline->begin ? begin : timeline->begin;
    for (size_t i = 0; i < count; i++) {
        painters[i] = (struct painter){.timeline = timeline, .last = begin, .has_begun = true};
        make_room_for(&painters[i], timeline->function_count);
    }
    while (stream && trace_view_stream_next(stream, &event, &message)) {
        if (event.location < count)
            add_event(&painters[event.location], process, &event);
    }
    for (size_t i = 0; i < count; i++) {
        struct thread_line *line = add_line(timeline, process, (uint32_t)i);
        paint_until(&painters[i], trace_view_end_of(view, index));
        for (int column = 0; column < timeline->columns; column++)
            line->functions[column] = longest_function(&painters[i], column);
        free(painters[i].times);
        free(painters[i].open);
    }
    free(painters);
    const bool good = stream && !trace_view_stream_failed(stream);
    trace_view_stream_free(stream);
    return good;
}

/* ---- Letters --------------------------------------------------------------------------------- */

static int compare_times(const void *one, const void *other)
{
    const struct shown_function *const *a = one, *const *b = other;
    return (*a)->time < (*b)->time ? 1 : (*a)->time > (*b)->time ? -1 : 0;
}

/* Chooses the first letter in the name of the function that no other function has, at first as a
 * capital letter, then in lower case; if there is none, chooses '#'. Functions with the longest
 * times choose first. */
static void choose_letter(struct shown_function *function, bool *taken)
{
    const char *name = strncmp(function->name, "MPI_", 4) ? function->name : function->name + 4;
    for (int is_lower = 0; is_lower < 2; is_lower++) {
        for (const char *at = name; *at; at++) {
            const bool is_letter = (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z';
            const char letter = (char)(is_lower ? *at | 0x20 : *at & ~0x20);
            if (!is_letter || taken[(unsigned char)letter])
                continue;
            taken[(unsigned char)letter] = true;
            function->letter = letter;
            return;
        }
    }
    function->letter = '#';
}

static struct shown_function **order_functions(struct timeline *timeline)
{
    bool taken[256] = {false};
    struct shown_function **order =
        qmpi_allocate((size_t)timeline->function_count + 1, sizeof(struct shown_function *));
    for (int i = 0; i < timeline->function_count; i++)
        order[i] = &timeline->functions[i];
    qsort(order, (size_t)timeline->function_count, sizeof *order, compare_times);
    for (int i = 0; i < timeline->function_count; i++)
        choose_letter(order[i], taken);
    return order;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* Returns the colour of a group of functions, which is the same in all traces. */
static int group_colour(const struct shown_function *function)
{
    unsigned sum = 0;
    for (const char *at = function->group; *at; at++)
        sum = sum * 31 + (unsigned char)*at;
    return 41 + (int)(sum % COLOURS);
}

/* Prints the axis. Labels have as many digits as they need to differ from each other. All have the
 * same unit, and can be used for the options --begin and --end. */
static void print_axis(FILE *stream, const struct timeline *timeline, int label)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    int unit = 0, digits = 0, used = 0, step = TICK_COLUMNS, length = 0;
    double size = 1;
    for (; unit < 3 && (double)timeline->end >= 1000 * size; unit++)
        size *= 1000;
    double distance = (double)(column_begin(timeline, step) - column_begin(timeline, 0)) / size;
    for (; distance < 100 && digits < 3 * unit; digits++)
        distance *= 10;
    char *text = qmpi_format("|%.*f %s ", digits, (double)timeline->end / size, names[unit]);
    length = (int)strlen(text);
    free(text);
    while (step < length)
        step += TICK_COLUMNS;
    fprintf(stream, "%-*s ", label, "");
    for (int column = 0; column + length - 1 <= timeline->columns; column += step) {
        const double time = (double)column_begin(timeline, column) / size;
        if (column && column_begin(timeline, column) == column_begin(timeline, column - step))
            continue; /* columns are shorter than a nanosecond */
        fprintf(stream, "%*s", column - used, "");
        used = column + fprintf(stream, "|%.*f %s", time == 0 ? 0 : digits, time, names[unit]);
    }
    fputc('\n', stream);
}

static void print_columns(FILE *stream, const struct timeline *timeline,
                          const struct thread_line *line, bool has_colours)
{
    int last = 0;
    for (int column = 0; column < timeline->columns; column++) {
        const uint16_t function = line->functions[column];
        const bool is_call = function < timeline->function_count;
        const int colour =
            is_call && has_colours ? group_colour(&timeline->functions[function]) : 0;
        if (colour != last)
            fprintf(stream, colour ? "\033[30;%dm" : "\033[0m", colour);
        last = colour;
        fputc(is_call               ? timeline->functions[function].letter
              : function == OUTSIDE ? '.'
                                    : ' ',
              stream);
    }
    fputs(last ? "\033[0m\n" : "\n", stream);
}

static void print_shares(FILE *stream, const struct timeline *timeline, int label)
{
    fprintf(stream, "%-*s ", label, "in MPI");
    for (int column = 0; column < timeline->columns; column++) {
        const double total = timeline->totals[column];
        const int tenth = total > 0 ? (int)(10 * timeline->shares[column] / total) : -1;
        fputc(tenth < 0 ? ' ' : tenth > 9 ? '9' : '0' + tenth, stream);
    }
    fputc('\n', stream);
}

static bool omits_functions(const struct trace_view *view)
{
    bool omits = false;
    for (uint32_t i = 0; i < view->trace->process_count; i++)
        omits = omits || (trace_view_has(view, i) &&
                          view->trace->processes[i].omits & TRACE_OMITS_FUNCTIONS);
    return omits;
}

static void print_legend(FILE *stream, const struct timeline *timeline,
                         struct shown_function **order)
{
    double total = 0;
    for (int i = 0; i < timeline->columns; i++)
        total += timeline->totals[i];
    fputc('\n', stream);
    for (int i = 0; i < timeline->function_count; i++) {
        char *name = qmpi_message("%s", order[i]->name);
        fprintf(stream, "  %c %-26s %10s %6s %%\n", order[i]->letter, name,
                units_time(order[i]->time), units_percent(order[i]->time, total));
        free(name);
    }
    fprintf(stream, "  . outside of %s\n",
            omits_functions(timeline->view) ? "the recorded functions" : "MPI");
}

static void print_all(FILE *stream, struct timeline *timeline, bool has_colours)
{
    struct shown_function **order = order_functions(timeline);
    const int label = timeline->width - timeline->columns - 1;
    print_axis(stream, timeline, label);
    for (int i = 0; i < timeline->line_count; i++) {
        fprintf(stream, "%-*.*s ", label, label, timeline->lines[i].label);
        print_columns(stream, timeline, &timeline->lines[i], has_colours);
    }
    print_shares(stream, timeline, label);
    print_legend(stream, timeline, order);
    free(order);
}

static int label_width(const struct trace_view *view)
{
    size_t width = LABEL_LEAST;
    for (uint32_t i = 0; i < view->trace->process_count; i++) {
        const struct trace_process *process = &view->trace->processes[i];
        char name[TRACE_NAME_SIZE], thread[TRACE_NAME_SIZE];
        const size_t length = strlen(trace_name_process(process, name));
        for (uint32_t k = 0; k < process->location_count && trace_view_has(view, i); k++) {
            const size_t more = process->location_count > 1
                                    ? 1 + strlen(trace_name_location(process, k, thread))
                                    : 0;
            width = length + more > width ? length + more : width;
        }
    }
    return width < LABEL_MOST ? (int)width : LABEL_MOST;
}

bool print_timeline(FILE *stream, const struct trace_view *view, int width, bool has_colours)
{
    struct timeline timeline = {.view = view,
                                .width = width,
                                .columns = width - label_width(view) - 1,
                                .begin = trace_view_begin(view),
                                .end = trace_view_end(view)};
    bool good = true;
    if (timeline.end <= timeline.begin)
        timeline.end = timeline.begin + 1;
    timeline.shares = qmpi_allocate((size_t)timeline.columns, sizeof *timeline.shares);
    timeline.totals = qmpi_allocate((size_t)timeline.columns, sizeof *timeline.totals);
    for (uint32_t i = 0; i < view->trace->process_count && good; i++) {
        if (trace_view_has(view, i))
            good = paint_process(&timeline, i);
    }
    if (good)
        print_all(stream, &timeline, has_colours);
    for (int i = 0; i < timeline.line_count; i++) {
        free(timeline.lines[i].label);
        free(timeline.lines[i].functions);
    }
    free(timeline.lines);
    free(timeline.functions);
    free(timeline.shares);
    free(timeline.totals);
    return good;
}
