/* SPDX-License-Identifier: MIT */
/*
 * qmpi trace --text: one row for each thread; each column is an interval of time, and shows the
 * function in which the thread spent most of it as a letter, or '.' if that was outside of MPI. The
 * last row shows the share of all threads' time in MPI, in tenths.
 */
#define _GNU_SOURCE
#include "cli/trace/timeline.h"
#include "cli/trace/trace.h"

#include "profile/profile.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_LEAST = 6, LABEL_MOST = 24, TICK_COLUMNS = 16, COLOURS = 6 };

/* ---- Letters -----------------------------------------------------------------------------------
 */

static int by_time(const void *one, const void *other)
{
    const struct function *const *a = one, *const *b = other;
    return (*a)->time < (*b)->time ? 1 : (*a)->time > (*b)->time ? -1 : 0;
}

/* Gives letters, to the functions with the longest time first: the first free one of those in the
 * name, in either case. */
static void give_letter(struct function *function, bool *taken)
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

static struct function **order_functions(struct timeline *timeline)
{
    bool taken[256] = {false};
    struct function **order =
        qmpi_allocate((size_t)timeline->function_count + 1, sizeof(struct function *));
    for (int i = 0; i < timeline->function_count; i++)
        order[i] = &timeline->functions[i];
    qsort(order, (size_t)timeline->function_count, sizeof *order, by_time);
    for (int i = 0; i < timeline->function_count; i++)
        give_letter(order[i], taken);
    return order;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* One colour for each group of functions: the same one in every trace. */
static int colour_of(const struct function *function)
{
    unsigned sum = 0;
    for (const char *at = function->group; *at; at++)
        sum = sum * 31 + (unsigned char)*at;
    return 41 + (int)(sum % COLOURS);
}

/* Labels differ: they have as many digits as the distance of two of them needs. All have the same
 * unit, so that an option --begin or --end can repeat them. */
static void print_axis(FILE *stream, const struct timeline *timeline, int label)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    int unit = 0, digits = 0, used = 0, step = TICK_COLUMNS, length = 0;
    double size = 1;
    for (; unit < 3 && (double)timeline->end >= 1000 * size; unit++)
        size *= 1000;
    double distance =
        (double)(timeline_column(timeline, step) - timeline_column(timeline, 0)) / size;
    for (; distance < 100 && digits < 3 * unit; digits++)
        distance *= 10;
    char *text = qmpi_format("|%.*f %s ", digits, (double)timeline->end / size, names[unit]);
    length = (int)strlen(text);
    free(text);
    while (step < length)
        step += TICK_COLUMNS;
    fprintf(stream, "%-*s ", label, "");
    for (int column = 0; column + length - 1 <= timeline->columns; column += step) {
        const double time = (double)timeline_column(timeline, column) / size;
        if (column && timeline_column(timeline, column) == timeline_column(timeline, column - step))
            continue; /* columns are shorter than a nanosecond */
        fprintf(stream, "%*s", column - used, "");
        used = column + fprintf(stream, "|%.*f %s", time == 0 ? 0 : digits, time, names[unit]);
    }
    fputc('\n', stream);
}

static void print_columns(FILE *stream, const struct timeline *timeline, const struct line *line,
                          bool has_colours)
{
    int last = 0;
    for (int column = 0; column < timeline->columns; column++) {
        const uint16_t function = line->functions[column];
        const bool is_call = function < timeline->function_count;
        const int colour = is_call && has_colours ? colour_of(&timeline->functions[function]) : 0;
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

static void print_legend(FILE *stream, const struct timeline *timeline, struct function **order)
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

static void print(FILE *stream, struct timeline *timeline, bool has_colours)
{
    struct function **order = order_functions(timeline);
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

/* The width of the labels. */
static int label_width(const struct trace_view *view)
{
    size_t width = LABEL_LEAST;
    for (uint32_t i = 0; i < view->trace->process_count; i++) {
        const struct trace_process *process = &view->trace->processes[i];
        char name[TRACE_NAME_SIZE], thread[TRACE_NAME_SIZE];
        const size_t length = strlen(trace_process_name(process, name));
        for (uint32_t k = 0; k < process->location_count && trace_view_has(view, i); k++) {
            const size_t more = process->location_count > 1
                                    ? 1 + strlen(trace_location_name(process, k, thread))
                                    : 0;
            width = length + more > width ? length + more : width;
        }
    }
    return width < LABEL_MOST ? (int)width : LABEL_MOST;
}

bool trace_print_timeline(FILE *stream, const struct trace_view *view, int width, bool is_terminal)
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
            good = timeline_paint(&timeline, i);
    }
    if (good)
        print(stream, &timeline, is_terminal);
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
