/* SPDX-License-Identifier: MIT */
/* See instances.h. */
#include "trace/instances.h"

#include <stdlib.h>

struct begun {
    uint64_t number;
    uint32_t function;
};

bool trace_instances_start(struct trace_instances *instances, const struct trace_process *process)
{
    *instances = (struct trace_instances){.process = process};
    trace_table_start(&instances->by_request, sizeof(struct begun));
    trace_table_start(&instances->by_location, sizeof(struct begun));
    instances->kinds = trace_collective_kinds(process);
    return instances->kinds;
}

void trace_instances_free(struct trace_instances *instances)
{
    trace_table_free(&instances->by_request);
    trace_table_free(&instances->by_location);
    free(instances->kinds);
}

static struct instance_part_of describe(const struct trace_instances *instances,
                                        const struct trace_event *event, const struct begun *begun,
                                        enum instance_part part)
{
    const struct trace_process *process = instances->process;
    struct instance_part_of it = {.part = part,
                                  .number = begun->number,
                                  .function = begun->function,
                                  .receives = event->received > 0};
    if (begun->function < process->function_count)
        it.kind = instances->kinds[begun->function];
    if (event->comm >= process->comm_count || !begun->number)
        return (struct instance_part_of){INSTANCE_NONE, .function = TRACE_NONE};
    const struct trace_comm *comm = &process->comms[event->comm];
    if (comm->remote || comm->rank < 0)
        it.kind = COLLECTIVE_OTHER;
    it.rank = comm->rank;
    it.size = comm->size;
    it.is_root = event->root >= 0 && event->root == comm->rank;
    return it;
}

static void begin(struct trace_table *table, uint64_t key, const struct begun *begun)
{
    struct begun *place = trace_table_put(table, key);
    if (place)
        *place = *begun;
}

static struct instance_part_of end(struct trace_instances *instances, struct trace_table *table,
                                   uint64_t key, const struct trace_event *event)
{
    const struct begun *place = trace_table_get(table, key);
    if (!place)
        return (struct instance_part_of){INSTANCE_NONE, .function = TRACE_NONE};
    const struct begun begun = *place;
    trace_table_remove(table, key);
    return describe(instances, event, &begun, INSTANCE_END);
}

struct instance_part_of trace_instances_next(struct trace_instances *instances,
                                             const struct trace_event *event, uint64_t number)
{
    struct begun begun = {number, event->function};
    switch (event->kind) {
    case TRACE_ENTER: /* the function of a collective is that of its call */
        begin(&instances->by_location, event->location, &begun);
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST: {
        const struct begun *call = trace_table_get(&instances->by_location, event->location);
        if (begun.function == TRACE_NONE && call)
            begun.function = call->function;
        if (event->kind == TRACE_COLLECTIVE_BEGIN)
            begin(&instances->by_location, event->location, &begun);
        else
            begin(&instances->by_request, event->request, &begun);
        return describe(instances, event, &begun, INSTANCE_BEGIN);
    }
    case TRACE_COLLECTIVE_END:
        return end(instances, &instances->by_location, event->location, event);
    case TRACE_ICOLLECTIVE_COMPLETE:
        return end(instances, &instances->by_request, event->request, event);
    case TRACE_REQUEST_FREED:
        trace_table_remove(&instances->by_request, event->request);
        break;
    default:
        break;
    }
    return (struct instance_part_of){INSTANCE_NONE, .function = TRACE_NONE};
}
