/* SPDX-License-Identifier: MIT */
/* See check.h. */
#define _GNU_SOURCE
#include "trace/check.h"

#include "trace/check_parts.h"
#include "trace/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void check_note(struct checking *checking, const struct check_place *place, const char *format, ...)
{
    struct trace_check *check = checking->check;
    struct trace_difference *first = &check->first;
    const bool is_first = !check->differences++;
    if (!is_first && (place->time > first->time ||
                      (place->time == first->time && place->process >= first->process)))
        return;
    va_list list;
    va_start(list, format);
    free(first->text);
    if (vasprintf(&first->text, format, list) < 0) {
        first->text = NULL;
        checking->failed = true;
    }
    va_end(list);
    first->time = place->time;
    first->process = place->process;
    first->function = place->function;
}

bool check_find_rank(const struct checking *checking, int rank, uint32_t *process)
{
    const uint32_t *index = rank < 0 ? NULL : trace_table_get(&checking->ranks, (uint64_t)rank);
    if (!index || checking->processes[*index].is_partial)
        return false;
    *process = *index;
    return true;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static uint32_t current(const struct check_thread *thread)
{
    return thread->depth ? thread->functions[thread->depth - 1] : TRACE_NONE;
}

static bool push(struct check_thread *thread, uint32_t function)
{
    if (thread->depth == thread->room) {
        const size_t room = thread->room ? 2 * thread->room : 8;
        uint32_t *larger = realloc(thread->functions, room * sizeof *larger);
        if (!larger)
            return false;
        thread->functions = larger;
        thread->room = room;
    }
    thread->functions[thread->depth++] = function;
    return true;
}

static void check_nesting(struct checking *checking, struct check_thread *thread,
                          struct check_place *place, const struct trace_event *event)
{
    const struct trace_process *process = &checking->view->trace->processes[place->process];
    if (event->ticks < thread->ticks && !checking->view->selection.has_begin)
        check_note(checking, place, "the time goes back by %llu ticks of the clock",
                   (unsigned long long)(thread->ticks - event->ticks));
    thread->ticks = event->ticks;
    if (event->kind == TRACE_ENTER) {
        checking->failed |= !push(thread, event->function);
        place->function = event->function;
        if (!event->is_known && !checking->processes[place->process].is_partial)
            check_note(checking, place, "the call has no end, but the process ended by %s",
                       "MPI_Finalize");
    } else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) {
        if (!thread->depth)
            check_note(checking, place, "a call ends that has not begun");
        else if (event->function != TRACE_NONE && event->function != current(thread))
            check_note(checking, place, "%s ends while %s is in progress",
                       trace_function_name(process, event->function),
                       trace_function_name(process, current(thread)));
        thread->depth -= thread->depth > 0;
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void add(struct checking *checking, const struct trace_event *event, uint32_t index,
                uint64_t message)
{
    struct check_process *process = &checking->processes[index];
    struct check_place place = {event->time, index, TRACE_NONE};
    checking->check->events++;
    if (event->location >= checking->view->trace->processes[index].location_count)
        return;
    struct check_thread *thread = &process->threads[event->location];
    place.function = current(thread);
    check_nesting(checking, thread, &place, event);
    const struct instance_part_of part = trace_instances_next(&process->instances, event, message);
    if (event->ticks >= process->gap)
        return;
    if (part.part != INSTANCE_NONE)
        check_collective(checking, &place, event, &part);
    else if (message && !process->lacks_messages &&
             (trace_is_send(event) || trace_is_receive(event)))
        check_message(checking, &place, event, message);
}

static void start_process(struct checking *checking, uint32_t index)
{
    const struct trace_process *process = &checking->view->trace->processes[index];
    struct check_process *it = &checking->processes[index];
    it->threads = calloc(process->location_count + 1, sizeof *it->threads);
    it->gap = UINT64_MAX;
    if (trace_messages_have_gaps(checking->view->messages[index]))
        checking->failed |= !check_find_gap(checking->view->trace, index, &it->gap);
    if (process->end != TRACE_END_FINALIZE || process->is_ring || process->unfinished ||
        (process->omits & TRACE_OMITS_BEGINNING) || (process->dropped && it->gap == UINT64_MAX))
        it->gap = 0;
    it->is_partial = it->gap != UINT64_MAX;
    it->lacks_messages = process->omits & TRACE_OMITS_MESSAGES;
    checking->check->partial += it->gap == 0;
    checking->check->interrupted += it->is_partial && it->gap;
    checking->check->selective += it->lacks_messages && it->gap;
    checking->failed |= !it->threads || !trace_instances_start(&it->instances, process);
    uint32_t *place =
        process->rank >= 0 ? trace_table_put(&checking->ranks, (uint64_t)process->rank) : NULL;
    if (place)
        *place = index;
}

static void free_process(struct checking *checking, uint32_t index)
{
    struct check_process *process = &checking->processes[index];
    for (size_t i = 0;
         process->threads && i < checking->view->trace->processes[index].location_count; i++)
        free(process->threads[i].functions);
    free(process->threads);
    if (process->threads)
        trace_instances_free(&process->instances);
}

bool trace_check_run(struct trace_check *check, const struct trace_view *view)
{
    const size_t count = view->trace->process_count;
    struct checking checking = {.check = check, .view = view};
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    *check = (struct trace_check){0};
    checking.bound = (int64_t)view->trace->bound;
    checking.processes = calloc(count + 1, sizeof *checking.processes);
    trace_table_start(&checking.ranks, sizeof(uint32_t));
    check_messages_start(&checking);
    check_collectives_start(&checking);
    for (uint32_t i = 0; checking.processes && i < count; i++) {
        if (trace_view_has(view, i))
            start_process(&checking, i);
    }
    checking.failed |= !checking.processes || checking.ranks.failed;
    struct trace_merged *merged = checking.failed ? NULL : trace_merged_make(view);
    while (merged && trace_merged_next(merged, &event, &process, &message))
        add(&checking, &event, process, message);
    checking.failed |= !merged || trace_merged_failed(merged);
    if (!checking.failed) {
        check_messages_end(&checking);
        check_collectives_end(&checking);
    }
    checking.failed |= checking.messages.failed || checking.collectives.failed;
    for (uint32_t i = 0; checking.processes && i < count; i++)
        free_process(&checking, i);
    trace_merged_free(merged);
    trace_table_free(&checking.messages);
    trace_table_free(&checking.collectives);
    trace_table_free(&checking.ranks);
    free(checking.processes);
    return !checking.failed;
}

void trace_check_free(struct trace_check *check)
{
    free(check->first.text);
    check->first.text = NULL;
}
