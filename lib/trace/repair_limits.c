/* SPDX-License-Identifier: MIT */
/*
 * The second reading of repair_parts.h: how far backward amortization may move what others depend
 * on: the begin of a message no further than to its receive minus the least latency, that of a
 * collective no further than to the first end of a member minus the least latency.
 */
#include "trace/instances.h"
#include "trace/repair_parts.h"

#include <stdlib.h>

/* A begin that may be moved. */
struct movable {
    uint32_t process;
    size_t knot; /* before which it is; SIZE_MAX: it is not moved */
    int64_t time, corrected;
};

/* The end of a message that was seen first. */
struct end {
    bool is_send;
    struct movable begin;
    int64_t received;
};

struct instance {
    int begun, ended;
    int64_t first_end;
    struct movable *begins;
    int begin_count;
};

struct follower {
    struct trace_instances instances;
    struct repair_position position; /* its `next` is the knot before which an event is */
};

struct search {
    struct trace_repair *repair;
    const struct trace_pairs *pairs;
    struct follower *followers;
    struct trace_table messages, collectives; /* struct end, struct instance */
    bool failed;
};

static void add_limit(struct search *search, const struct movable *begin, int64_t end)
{
    if (begin->knot == SIZE_MAX)
        return;
    struct repair_knot *knot = &search->repair->processes[begin->process].all[begin->knot];
    int64_t most = end - search->repair->latency - begin->corrected;
    most = most < 0 ? 0 : most;
    if (most >= trace_repair_backward(knot, begin->time))
        return;
    if (knot->limit_count == knot->limit_room) {
        const size_t room = knot->limit_room ? 2 * knot->limit_room : 4;
        struct repair_limit *larger = realloc(knot->limits, room * sizeof *larger);
        if (!larger) {
            search->failed = true;
            return;
        }
        knot->limits = larger;
        knot->limit_room = room;
    }
    knot->limits[knot->limit_count++] = (struct repair_limit){begin->time, most};
}

static void pair(struct search *search, const struct trace_event *event, uint64_t message,
                 const struct movable *here)
{
    const bool is_send = trace_is_send(event);
    struct end *other = trace_table_get(&search->messages, message);
    if (!other) {
        other = trace_table_put(&search->messages, message);
        if (other)
            *other = (struct end){is_send, *here, here->corrected};
        return;
    }
    if (other->is_send != is_send)
        add_limit(search, is_send ? here : &other->begin,
                  is_send ? other->received : here->corrected);
    trace_table_remove(&search->messages, message);
}

static void begin(struct search *search, const struct instance_part_of *part,
                  const struct movable *here)
{
    struct instance *instance = trace_table_put(&search->collectives, part->number);
    if (!instance)
        return;
    if (!instance->begun++)
        instance->first_end = INT64_MAX;
    if (here->knot == SIZE_MAX || (part->kind == COLLECTIVE_FROM_ROOT && !part->is_root))
        return;
    struct movable *larger =
        realloc(instance->begins, (size_t)(instance->begin_count + 1) * sizeof *larger);
    if (!larger) {
        search->failed = true;
        return;
    }
    instance->begins = larger;
    instance->begins[instance->begin_count++] = *here;
}

static void finish(struct search *search, struct instance *instance)
{
    for (int i = 0; i < instance->begin_count && instance->first_end != INT64_MAX; i++)
        add_limit(search, &instance->begins[i], instance->first_end);
    free(instance->begins);
    instance->begins = NULL;
    instance->begin_count = 0;
}

static void end(struct search *search, const struct instance_part_of *part, int64_t corrected)
{
    struct instance *instance = trace_table_get(&search->collectives, part->number);
    if (!instance)
        return;
    const bool waits = part->kind == COLLECTIVE_BARRIER ||
                       (part->receives && (part->kind != COLLECTIVE_TO_ROOT || part->is_root) &&
                        (part->kind != COLLECTIVE_FROM_ROOT || !part->is_root));
    if (waits && corrected < instance->first_end)
        instance->first_end = corrected;
    if (++instance->ended >= part->size && instance->begun >= part->size) {
        finish(search, instance);
        trace_table_remove(&search->collectives, part->number);
    }
}

static void add(struct search *search, const struct trace_event *event, uint32_t process,
                uint64_t message)
{
    struct follower *follower = &search->followers[process];
    const struct repair_knots *knots = &search->repair->processes[process];
    struct repair_position *position = &follower->position;
    while (position->next < knots->count && knots->all[position->next].event <= position->event)
        position->next++;
    position->event++;
    const struct instance_part_of part = trace_instances_next(&follower->instances, event, message);
    if (!message && part.part == INSTANCE_NONE)
        return;
    struct movable here = {
        process, position->next, event->time,
        trace_repair_forward(position->next ? &knots->all[position->next - 1] : NULL, event->time)};
    if (here.knot == knots->count || !trace_repair_backward(&knots->all[here.knot], event->time))
        here.knot = SIZE_MAX;
    if (part.part == INSTANCE_BEGIN && part.kind != COLLECTIVE_OTHER)
        begin(search, &part, &here);
    else if (part.part == INSTANCE_END && part.kind != COLLECTIVE_OTHER)
        end(search, &part, here.corrected);
    else if (message && (trace_is_send(event) || trace_is_receive(event)) &&
             trace_pairs_are_complete(search->pairs, message))
        pair(search, event, message, &here);
}

static void finish_left(void *data, uint64_t key, void *value)
{
    (void)key;
    finish(data, value);
}

bool trace_repair_find_limits(struct trace_repair *repair, const struct trace_pairs *pairs)
{
    const struct trace *trace = repair->view->trace;
    struct search search = {.repair = repair, .pairs = pairs};
    struct trace_event event;
    uint32_t process;
    uint64_t message;
    trace_table_start(&search.messages, sizeof(struct end));
    trace_table_start(&search.collectives, sizeof(struct instance));
    search.followers = calloc(trace->process_count + 1, sizeof *search.followers);
    search.failed = !search.followers;
    for (size_t i = 0; i < trace->process_count && !search.failed; i++)
        search.failed =
            !trace_instances_start(&search.followers[i].instances, &trace->processes[i]);
    struct trace_merged *merged = search.failed ? NULL : trace_merged_make(repair->view);
    while (merged && trace_merged_next(merged, &event, &process, &message))
        add(&search, &event, process, message);
    trace_table_each(&search.collectives, finish_left, &search);
    search.failed |= !merged || trace_merged_failed(merged) || search.messages.failed ||
                     search.collectives.failed;
    for (size_t i = 0; i < trace->process_count && search.followers; i++)
        trace_instances_free(&search.followers[i].instances);
    trace_merged_free(merged);
    trace_table_free(&search.messages);
    trace_table_free(&search.collectives);
    free(search.followers);
    return !search.failed;
}
