/* SPDX-License-Identifier: MIT */
/* See cuts.h. */
#include "tools/trace/analysis/cuts.h"

#include "tools/trace/analysis/collectives.h"

#include <stdlib.h>

/* What is known of a message or collective of which not all events have been read yet. */
struct pending_cut {
    bool is_inside, is_outside; /* some of its events are in the window, outside the window */
    uint32_t ends;              /* number of members that have ended the collective */
};

struct cutting {
    struct trace_cuts *cuts;
    const struct trace_cursor_selection *window;
    uint32_t processes;                    /* in the view */
    struct trace_collectives *collectives; /* [process] */
    struct qmpi_table messages, members;   /* the values are struct pending_cut */
};

/* Adds an event to the message or collective with this number, which is then in `cuts` if it is
 * only partly in the window. Returns NULL if memory is exhausted. */
static struct pending_cut *add_event(const struct cutting *cutting, struct qmpi_table *pending,
                                     struct qmpi_table *cuts, uint64_t number, int64_t time)
{
    const struct trace_cursor_selection *window = cutting->window;
    const bool is_outside =
        (window->has_begin && time < window->begin) || (window->has_end && time > window->end);
    struct pending_cut *place = qmpi_table_put(pending, number);
    if (!place)
        return NULL;
    place->is_outside |= is_outside;
    place->is_inside |= !is_outside;
    if (place->is_outside && place->is_inside)
        qmpi_table_put(cuts, number);
    return place;
}

static void add_end_of_message(struct cutting *cutting, uint64_t message, int64_t time)
{
    const bool is_second = qmpi_table_get(&cutting->messages, message);
    add_event(cutting, &cutting->messages, &cutting->cuts->messages, message, time);
    if (is_second)
        qmpi_table_remove(&cutting->messages, message);
}

static void add_member(struct cutting *cutting, const struct trace_collectives_part *part,
                       int64_t time)
{
    const uint32_t size = (uint32_t)part->size;
    const uint32_t most = size < cutting->processes ? size : cutting->processes;
    struct pending_cut *place =
        add_event(cutting, &cutting->members, &cutting->cuts->collectives, part->number, time);
    if (place && part->role == COLLECTIVE_ENDS && ++place->ends >= most)
        qmpi_table_remove(&cutting->members, part->number);
}

static bool start_collectives(struct cutting *cutting, const struct trace *trace)
{
    bool good = true;
    cutting->collectives = calloc(trace->process_count + 1, sizeof *cutting->collectives);
    for (size_t i = 0; cutting->collectives && i < trace->process_count; i++)
        good = trace_collectives_start(&cutting->collectives[i], &trace->processes[i]) && good;
    return good && cutting->collectives;
}

static void free_collectives(struct cutting *cutting, const struct trace *trace)
{
    for (size_t i = 0; cutting->collectives && i < trace->process_count; i++)
        trace_collectives_free(&cutting->collectives[i]);
    free(cutting->collectives);
}

/* Reads the events of a view without a window. */
static bool find_in(struct cutting *cutting, const struct trace_view *all)
{
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    struct trace_view_merged *merged = trace_view_merged_make(all);
    while (merged && trace_view_merged_next(merged, &event, &process, &message)) {
        const struct trace_collectives_part part =
            trace_collectives_next(&cutting->collectives[process], &event, message);
        if (part.role != COLLECTIVE_NO_PART)
            add_member(cutting, &part, event.time);
        else if (message && (trace_messages_is_send(&event) || trace_messages_is_receive(&event)))
            add_end_of_message(cutting, message, event.time);
    }
    const bool good = merged && !trace_view_merged_failed(merged);
    trace_view_merged_free(merged);
    return good;
}

bool trace_cuts_find(struct trace_cuts *cuts, const struct trace_view *view)
{
    struct cutting cutting = {.cuts = cuts, .window = &view->selection};
    const struct trace_cursor_selection processes = {.processes = view->selection.processes};
    struct trace_view all;
    qmpi_table_start(&cuts->messages, 1);
    qmpi_table_start(&cuts->collectives, 1);
    qmpi_table_start(&cutting.messages, sizeof(struct pending_cut));
    qmpi_table_start(&cutting.members, sizeof(struct pending_cut));
    for (uint32_t i = 0; i < view->trace->process_count; i++)
        cutting.processes += trace_view_has(view, i);
    bool good = start_collectives(&cutting, view->trace);
    good = trace_view_open(&all, view->trace, &processes) && good && find_in(&cutting, &all);
    good = good && !cuts->messages.failed && !cuts->collectives.failed &&
           !cutting.messages.failed && !cutting.members.failed;
    trace_view_close(&all);
    free_collectives(&cutting, view->trace);
    qmpi_table_free(&cutting.messages);
    qmpi_table_free(&cutting.members);
    return good;
}

void trace_cuts_free(struct trace_cuts *cuts)
{
    qmpi_table_free(&cuts->messages);
    qmpi_table_free(&cuts->collectives);
}

bool trace_cuts_have_message(const struct trace_cuts *cuts, uint64_t message)
{
    return qmpi_table_get(&cuts->messages, message);
}

bool trace_cuts_have_collective(const struct trace_cuts *cuts, uint64_t collective)
{
    return qmpi_table_get(&cuts->collectives, collective);
}
