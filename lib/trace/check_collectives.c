/* SPDX-License-Identifier: MIT */
/* The collectives of check_parts.h. */
#include "trace/check_parts.h"
#include "trace/export.h"

#include <inttypes.h>
#include <string.h>

struct instance {
    struct check_place first; /* the begin of the first member */
    uint32_t comm;            /* as the first member knows it */
    uint64_t number;          /* how many came before it on the communicator */
    int root, size, begun, ended;
    enum collective_kind kind;
    bool has_end;
    struct check_place end; /* the first end of a member that waits for others */
    int end_rank;           /* COLLECTIVE_PREFIX: the highest rank of those that have ended */
};

void check_collectives_start(struct checking *checking)
{
    trace_table_start(&checking->collectives, sizeof(struct instance));
}

static const struct trace_process *process_of(const struct checking *checking, uint32_t process)
{
    return &checking->view->trace->processes[process];
}

static const char *name_of(const struct checking *checking, const struct check_place *place)
{
    return trace_function_name(process_of(checking, place->process), place->function);
}

/* Whether a member that begins now should have begun before the end that was seen. */
static bool is_waited_for(const struct instance *instance, const struct instance_part_of *part)
{
    switch (instance->kind) {
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_ALL:
    case COLLECTIVE_TO_ROOT:
        return true;
    case COLLECTIVE_FROM_ROOT:
        return part->is_root;
    case COLLECTIVE_PREFIX:
        return part->rank < instance->end_rank;
    default:
        return false;
    }
}

static void begin(struct checking *checking, const struct check_place *place,
                  const struct trace_event *event, const struct instance_part_of *part)
{
    struct instance *instance = trace_table_put(&checking->collectives, part->number);
    char room[TRACE_NAME_SIZE];
    if (!instance)
        return;
    if (!instance->begun++) {
        const uint64_t id = process_of(checking, place->process)->comms[event->comm].id;
        *instance = (struct instance){
            .first = *place,
            .comm = event->comm,
            .root = event->root,
            .size = part->size,
            .begun = 1,
            .kind = part->kind,
            .number = trace_messages_collectives(checking->view->messages[place->process], id)};
        return;
    }
    trace_process_name(process_of(checking, instance->first.process), room);
    if (strcmp(name_of(checking, place), name_of(checking, &instance->first)) != 0)
        check_note(checking, place,
                   "the call is number %" PRIu64 " of the collectives on its communicator, which "
                   "is %s on %s",
                   instance->number, name_of(checking, &instance->first), room);
    else if (event->root >= 0 && instance->root >= 0 && event->root != instance->root)
        check_note(checking, place, "the root is %d here, but %d on %s", event->root,
                   instance->root, room);
    if (instance->has_end && is_waited_for(instance, part) &&
        place->time > instance->end.time + checking->bound) {
        trace_process_name(process_of(checking, place->process), room);
        check_note(checking, &instance->end,
                   "the call ends %" PRId64 " ns before %s begins it; clocks may differ by "
                   "%" PRId64 " ns",
                   place->time - instance->end.time, room, checking->bound);
    }
}

static void end(struct checking *checking, const struct check_place *place,
                const struct instance_part_of *part)
{
    struct instance *instance = trace_table_get(&checking->collectives, part->number);
    if (!instance)
        return;
    const bool waits = part->kind == COLLECTIVE_BARRIER ||
                       (part->kind != COLLECTIVE_OTHER && part->receives &&
                        (part->kind != COLLECTIVE_TO_ROOT || part->is_root) &&
                        (part->kind != COLLECTIVE_FROM_ROOT || !part->is_root));
    if (waits && !instance->has_end) {
        instance->has_end = true;
        instance->end = *place;
        instance->end.function = part->function;
    }
    if (waits && part->rank > instance->end_rank)
        instance->end_rank = part->rank;
    if (++instance->ended >= instance->size && instance->begun >= instance->size) {
        checking->check->collectives++;
        trace_table_remove(&checking->collectives, part->number);
    }
}

void check_collective(struct checking *checking, const struct check_place *place,
                      const struct trace_event *event, const struct instance_part_of *part)
{
    struct check_place call = *place;
    call.function = part->function;
    if (part->part == INSTANCE_BEGIN)
        begin(checking, &call, event, part);
    else
        end(checking, place, part);
}

/* A member that has begun too few collectives on the communicator. */
static void note_missing(void *data, uint64_t key, void *value)
{
    struct checking *checking = data;
    const struct instance *instance = value;
    const struct trace_process *process = process_of(checking, instance->first.process);
    const struct trace_comm *comm = &process->comms[instance->comm];
    (void)key;
    if (instance->begun >= instance->size || comm->remote)
        return;
    for (int i = 0; comm->group && i < comm->size; i++) {
        uint32_t other;
        if (!check_find_rank(checking, comm->group[i], &other) ||
            trace_messages_collectives(checking->view->messages[other], comm->id) >=
                instance->number)
            continue;
        check_note(checking, &instance->first,
                   "rank %d does not take part: %d of %d members of the communicator do",
                   comm->group[i], instance->begun, instance->size);
        return;
    }
}

void check_collectives_end(struct checking *checking)
{
    const struct trace_selection *selection = &checking->view->selection;
    if (!selection->has_begin && !selection->has_end)
        trace_table_each(&checking->collectives, note_missing, checking);
}
