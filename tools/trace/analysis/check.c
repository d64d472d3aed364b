/* SPDX-License-Identifier: MIT */
/* See check.h. */
#define _GNU_SOURCE
#include "tools/trace/analysis/check.h"

#include "tools/trace/analysis/collectives.h"
#include "tools/trace/file/name.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calls in progress of a thread. */
struct checked_thread {
    uint32_t *functions;
    size_t depth, room;
    uint64_t ticks;
};

struct checked_process {
    struct checked_thread *threads;
    struct trace_collectives collectives;
    bool is_partial;     /* communication with other processes may be missing in this process */
    bool lacks_messages; /* some or all messages are missing */
    uint64_t gap;        /* ticks: nothing is missing before this time */
};

/* World times are exact to a nanosecond (file/clock_line.h), so two of them may be in the wrong
 * order by this many nanoseconds, even if their processes have one clock. */
enum { ROUNDING = 2 };

struct checking {
    struct trace_check *check;
    const struct trace_view *view;
    struct checked_process *processes;
    struct qmpi_table messages, collectives;
    struct qmpi_table ranks; /* rank in MPI_COMM_WORLD -> uint32_t, index of the process */
    int64_t bound;
    bool failed;
};

/* The place of an event. */
struct checked_place {
    int64_t time;
    uint32_t process, function;
};

/* ---- Differences ----------------------------------------------------------------------------- */

/* Counts a difference, and stores its text if it is the earliest so far. */
static __attribute__((format(printf, 3, 4))) void add_difference(struct checking *checking,
                                                                 const struct checked_place *place,
                                                                 const char *format, ...)
{
    struct trace_check *check = checking->check;
    struct trace_check_difference *first = &check->first;
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

/* Finds the process with a rank in MPI_COMM_WORLD. Returns false if the view does not contain the
 * process, or if the process has recorded only a part of its events. */
static bool find_whole_process(const struct checking *checking, int rank, uint32_t *process)
{
    const uint32_t *index = rank < 0 ? NULL : qmpi_table_get(&checking->ranks, (uint64_t)rank);
    if (!index || checking->processes[*index].is_partial)
        return false;
    *process = *index;
    return true;
}

/* ---- Messages: both ends are compared when the second one is seen ---------------------------- */

struct message_end {
    struct checked_place place;
    uint64_t bytes;
    int peer, tag;
    uint32_t comm;
    bool is_send;
};

static void check_messages_start(struct checking *checking)
{
    qmpi_table_start(&checking->messages, sizeof(struct message_end));
}

static const struct trace_process *process_of_end(const struct checking *checking,
                                                  const struct message_end *end)
{
    return &checking->view->trace->processes[end->place.process];
}

/* Returns whether one of the next messages of the channel has been sent, but not received yet, and
 * has this size. If so, the order is probably wrong. */
static bool is_overtaken(const struct checking *checking, uint64_t message, uint64_t bytes)
{
    /* NEIGHBOURS messages are compared. The messages of a channel have consecutive numbers. */
    enum { NEIGHBOURS = 64 };
    for (uint64_t i = 1; i <= NEIGHBOURS; i++) {
        const struct message_end *next = qmpi_table_get(&checking->messages, message + i);
        if (next && next->is_send && next->bytes == bytes)
            return true;
    }
    return false;
}

static void compare_ends(struct checking *checking, uint64_t message,
                         const struct message_end *send, const struct message_end *receive)
{
    char sender[TRACE_NAME_SIZE];
    trace_name_process(process_of_end(checking, send), sender);
    checking->check->messages++;
    if (receive->place.time < send->place.time - checking->bound - ROUNDING)
        add_difference(checking, &receive->place,
                       "the message from %s with tag %d is received %" PRId64
                       " ns before it is sent; clocks may differ by %" PRId64 " ns",
                       sender, send->tag, send->place.time - receive->place.time, checking->bound);
    if (receive->bytes > send->bytes)
        add_difference(
            checking, &receive->place,
            "%" PRIu64 " bytes are received of the message from %s with tag %d, in which "
            "%" PRIu64 " bytes were sent%s",
            receive->bytes, sender, send->tag, send->bytes,
            is_overtaken(checking, message, receive->bytes) ? ": a later message has overtaken it"
                                                            : "");
}

static void check_message(struct checking *checking, const struct checked_place *place,
                          const struct trace_event *event, uint64_t message)
{
    const struct message_end here = {*place,     event->bytes, event->peer,
                                     event->tag, event->comm,  trace_messages_is_send(event)};
    struct message_end *other = qmpi_table_get(&checking->messages, message);
    if (!other) {
        other = qmpi_table_put(&checking->messages, message);
        if (other)
            *other = here;
        return;
    }
    if (other->is_send == here.is_send)
        return;
    const struct message_end found = *other;
    qmpi_table_remove(&checking->messages, message);
    compare_ends(checking, message, here.is_send ? &here : &found, here.is_send ? &found : &here);
}

static void report_single_end(void *data, uint64_t message, void *value)
{
    struct checking *checking = data;
    const struct message_end *end = value;
    const struct trace_process *process = process_of_end(checking, end);
    const int rank = trace_event_world_rank(process, end->comm, end->peer);
    char comm[TRACE_NAME_SIZE];
    uint32_t other;
    (void)message;
    if (!find_whole_process(checking, rank, &other) || checking->processes[other].lacks_messages)
        return;
    const char *name = trace_name_comm(process, end->comm, comm);
    if (end->is_send)
        add_difference(checking, &end->place,
                       "the message of %" PRIu64
                       " bytes to rank %d with tag %d in %s is not received",
                       end->bytes, rank, end->tag, name);
    else
        add_difference(checking, &end->place,
                       "the message of %" PRIu64
                       " bytes from rank %d with tag %d in %s was not sent",
                       end->bytes, rank, end->tag, name);
}

static void check_messages_end(struct checking *checking)
{
    const struct trace_cursor_selection *selection = &checking->view->selection;
    if (!selection->has_begin && !selection->has_end)
        qmpi_table_each(&checking->messages, report_single_end, checking);
}

/* ---- Collectives ----------------------------------------------------------------------------- */

struct collective {
    struct checked_place first; /* the place where the first member begins the collective */
    uint32_t comm;              /* the communicator in the first member */
    uint64_t number; /* its number among the collectives on the communicator, from 1 on */
    int root, size, begun, ended;
    enum trace_collectives_kind kind;
    bool has_end;
    struct checked_place end; /* the first end of a member that waits for others */
    int end_rank; /* for COLLECTIVE_PREFIX: the highest rank of the members that had to wait and
                     have ended */
};

static void check_collectives_start(struct checking *checking)
{
    qmpi_table_start(&checking->collectives, sizeof(struct collective));
}

static const struct trace_process *process_at(const struct checking *checking, uint32_t process)
{
    return &checking->view->trace->processes[process];
}

static const char *called_name(const struct checking *checking, const struct checked_place *place)
{
    return trace_name_function(process_at(checking, place->process), place->function);
}

/* Returns whether a member that begins now should have begun before the end that was recorded. */
static bool is_waited_for(const struct collective *collective,
                          const struct trace_collectives_part *part)
{
    switch (collective->kind) {
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_ALL:
    case COLLECTIVE_TO_ROOT:
        return true;
    case COLLECTIVE_FROM_ROOT:
        return part->is_root;
    case COLLECTIVE_PREFIX:
        return part->rank < collective->end_rank;
    default:
        return false;
    }
}

static void check_collective_begin(struct checking *checking, const struct checked_place *place,
                                   const struct trace_event *event,
                                   const struct trace_collectives_part *part)
{
    struct collective *collective = qmpi_table_put(&checking->collectives, part->number);
    char room[TRACE_NAME_SIZE];
    if (!collective)
        return;
    if (!collective->begun++) {
        const uint64_t id = process_at(checking, place->process)->comms[event->comm].id;
        *collective = (struct collective){
            .first = *place,
            .comm = event->comm,
            .root = event->root,
            .size = part->size,
            .begun = 1,
            .kind = part->kind,
            .number = trace_messages_collectives(checking->view->messages[place->process], id)};
        return;
    }
    trace_name_process(process_at(checking, collective->first.process), room);
    if (strcmp(called_name(checking, place), called_name(checking, &collective->first)) != 0)
        add_difference(checking, place,
                       "the call is number %" PRIu64
                       " of the collectives on its communicator, which "
                       "is %s on %s",
                       collective->number, called_name(checking, &collective->first), room);
    else if (event->root >= 0 && collective->root >= 0 && event->root != collective->root)
        add_difference(checking, place, "the root is %d here, but %d on %s", event->root,
                       collective->root, room);
    if (collective->has_end && is_waited_for(collective, part) &&
        place->time > collective->end.time + checking->bound + ROUNDING) {
        trace_name_process(process_at(checking, place->process), room);
        add_difference(checking, &collective->end,
                       "the call ends %" PRId64 " ns before %s begins it; clocks may differ by "
                       "%" PRId64 " ns",
                       place->time - collective->end.time, room, checking->bound);
    }
}

static void check_collective_end(struct checking *checking, const struct checked_place *place,
                                 const struct trace_collectives_part *part)
{
    struct collective *collective = qmpi_table_get(&checking->collectives, part->number);
    if (!collective)
        return;
    const bool waits = trace_collectives_waits(part);
    if (waits && !collective->has_end) {
        collective->has_end = true;
        collective->end = *place;
        collective->end.function = part->function;
    }
    if (waits && part->rank > collective->end_rank)
        collective->end_rank = part->rank;
    if (++collective->ended >= collective->size && collective->begun >= collective->size) {
        checking->check->collectives++;
        qmpi_table_remove(&checking->collectives, part->number);
    }
}

static void check_collective(struct checking *checking, const struct checked_place *place,
                             const struct trace_event *event,
                             const struct trace_collectives_part *part)
{
    struct checked_place call = *place;
    call.function = part->function;
    if (part->role == COLLECTIVE_BEGINS)
        check_collective_begin(checking, &call, event, part);
    else
        check_collective_end(checking, place, part);
}

/* Reports a member that did not begin the collective: it has begun fewer collectives on the
 * communicator. */
static void report_missing_member(void *data, uint64_t key, void *value)
{
    struct checking *checking = data;
    const struct collective *collective = value;
    const struct trace_process *process = process_at(checking, collective->first.process);
    const struct trace_comm *comm = &process->comms[collective->comm];
    (void)key;
    if (collective->begun >= collective->size || comm->remote)
        return;
    for (int i = 0; comm->group && i < comm->size; i++) {
        uint32_t other;
        if (!find_whole_process(checking, comm->group[i], &other) ||
            trace_messages_collectives(checking->view->messages[other], comm->id) >=
                collective->number)
            continue;
        add_difference(checking, &collective->first,
                       "rank %d does not take part: %d of %d members of the communicator do",
                       comm->group[i], collective->begun, collective->size);
        return;
    }
}

static void check_collectives_end(struct checking *checking)
{
    const struct trace_cursor_selection *selection = &checking->view->selection;
    if (!selection->has_begin && !selection->has_end)
        qmpi_table_each(&checking->collectives, report_missing_member, checking);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static uint32_t current_function(const struct checked_thread *thread)
{
    return thread->depth ? thread->functions[thread->depth - 1] : TRACE_NONE;
}

static bool push_function(struct checked_thread *thread, uint32_t function)
{
    if (!QMPI_MEMORY_RESERVE(thread->functions, thread->room, thread->depth + 1))
        return false;
    thread->functions[thread->depth++] = function;
    return true;
}

static void check_nesting(struct checking *checking, struct checked_thread *thread,
                          struct checked_place *place, const struct trace_event *event)
{
    const struct trace_process *process = &checking->view->trace->processes[place->process];
    if (event->ticks < thread->ticks && !checking->view->selection.has_begin)
        add_difference(checking, place, "the time goes back by %llu ticks of the clock",
                       (unsigned long long)(thread->ticks - event->ticks));
    thread->ticks = event->ticks;
    if (event->kind == TRACE_ENTER) {
        checking->failed |= !push_function(thread, event->function);
        place->function = event->function;
        if (!event->is_known && !checking->processes[place->process].is_partial)
            add_difference(checking, place, "the call has no end, but the process ended by %s",
                           "MPI_Finalize");
    } else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) {
        if (!thread->depth)
            add_difference(checking, place, "a call ends that has not begun");
        else if (event->function != TRACE_NONE && event->function != current_function(thread))
            add_difference(checking, place, "%s ends while %s is in progress",
                           trace_name_function(process, event->function),
                           trace_name_function(process, current_function(thread)));
        thread->depth -= thread->depth > 0;
    }
}

/* ---- All events ------------------------------------------------------------------------------ */

static void check_event(struct checking *checking, const struct trace_event *event, uint32_t index,
                        uint64_t message)
{
    struct checked_process *process = &checking->processes[index];
    struct checked_place place = {event->time, index, TRACE_NONE};
    checking->check->events++;
    if (event->location >= checking->view->trace->processes[index].location_count)
        return;
    struct checked_thread *thread = &process->threads[event->location];
    place.function = current_function(thread);
    check_nesting(checking, thread, &place, event);
    const struct trace_collectives_part part =
        trace_collectives_next(&process->collectives, event, message);
    if (event->ticks >= process->gap)
        return;
    if (part.role != COLLECTIVE_NO_PART)
        check_collective(checking, &place, event, &part);
    else if (message && !process->lacks_messages &&
             (trace_messages_is_send(event) || trace_messages_is_receive(event)))
        check_message(checking, &place, event, message);
}

static void start_checking(struct checking *checking, uint32_t index)
{
    const struct trace_process *process = &checking->view->trace->processes[index];
    struct checked_process *it = &checking->processes[index];
    it->threads = calloc(process->location_count + 1, sizeof *it->threads);
    it->gap = trace_messages_gap(checking->view->messages[index]);
    if (process->end != TRACE_END_FINALIZE || process->unfinished)
        it->gap = 0;
    it->is_partial = it->gap != UINT64_MAX;
    it->lacks_messages = trace_messages_are_omitted(process);
    checking->check->partial += it->gap == 0;
    checking->check->interrupted += it->is_partial && it->gap;
    checking->check->selective += it->lacks_messages && it->gap;
    checking->failed |= !it->threads || !trace_collectives_start(&it->collectives, process);
    uint32_t *place =
        process->rank >= 0 ? qmpi_table_put(&checking->ranks, (uint64_t)process->rank) : NULL;
    if (place)
        *place = index;
}

static void free_checking(struct checking *checking, uint32_t index)
{
    struct checked_process *process = &checking->processes[index];
    for (size_t i = 0;
         process->threads && i < checking->view->trace->processes[index].location_count; i++)
        free(process->threads[i].functions);
    free(process->threads);
    if (process->threads)
        trace_collectives_free(&process->collectives);
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
    qmpi_table_start(&checking.ranks, sizeof(uint32_t));
    check_messages_start(&checking);
    check_collectives_start(&checking);
    for (uint32_t i = 0; checking.processes && i < count; i++) {
        if (trace_view_has(view, i))
            start_checking(&checking, i);
    }
    checking.failed |= !checking.processes || checking.ranks.failed;
    struct trace_view_merged *merged = checking.failed ? NULL : trace_view_merged_make(view);
    while (merged && trace_view_merged_next(merged, &event, &process, &message))
        check_event(&checking, &event, process, message);
    checking.failed |= !merged || trace_view_merged_failed(merged);
    if (!checking.failed) {
        check_messages_end(&checking);
        check_collectives_end(&checking);
    }
    checking.failed |= checking.messages.failed || checking.collectives.failed;
    for (uint32_t i = 0; checking.processes && i < count; i++)
        free_checking(&checking, i);
    trace_view_merged_free(merged);
    qmpi_table_free(&checking.messages);
    qmpi_table_free(&checking.collectives);
    qmpi_table_free(&checking.ranks);
    free(checking.processes);
    return !checking.failed;
}

void trace_check_free(struct trace_check *check)
{
    free(check->first.text);
    check->first.text = NULL;
}
