/* SPDX-License-Identifier: MIT */
/* See collectives.h. In collectives whose counts may differ between members, such as MPI_Alltoallv,
 * it is unknown whether a member has data for another one. They are COLLECTIVE_OTHER, unless only
 * the root has data for others. */
#include "tools/trace/analysis/collectives.h"

#include "standard/standard.h"

#include <stdlib.h>

/* ---- Kinds ----------------------------------------------------------------------------------- */

static enum trace_collectives_kind find_kind_of_function(const char *function)
{
    QMPIX_Traits traits;
    standard_find_traits(function, &traits);
    if (traits.role != QMPIX_ROLE_COLLECTIVE || traits.flags & QMPIX_TRAIT_PERSISTENT)
        return COLLECTIVE_OTHER;
    if (traits.collective == QMPIX_COLLECTIVE_BARRIER)
        return COLLECTIVE_BARRIER;
    if (traits.flow == QMPIX_FLOW_FROM_ROOT)
        return COLLECTIVE_FROM_ROOT;
    if (traits.flags & QMPIX_TRAIT_IRREGULAR)
        return COLLECTIVE_OTHER;
    switch (traits.flow) {
    case QMPIX_FLOW_ALL:
        return COLLECTIVE_ALL;
    case QMPIX_FLOW_TO_ROOT:
        return COLLECTIVE_TO_ROOT;
    case QMPIX_FLOW_SCAN:
    case QMPIX_FLOW_EXSCAN:
        return COLLECTIVE_PREFIX;
    default:
        return COLLECTIVE_OTHER;
    }
}

static unsigned char *find_kinds(const struct trace_process *process)
{
    unsigned char *all = calloc(process->function_count + 1, 1);
    for (size_t i = 0; all && i < process->function_count; i++)
        all[i] = (unsigned char)find_kind_of_function(process->functions[i].name);
    return all;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

struct begun {
    uint64_t number;
    uint32_t function;
};

bool trace_collectives_start(struct trace_collectives *collectives,
                             const struct trace_process *process)
{
    *collectives = (struct trace_collectives){.process = process};
    qmpi_table_start(&collectives->by_request, sizeof(struct begun));
    qmpi_table_start(&collectives->by_location, sizeof(struct begun));
    collectives->kinds = find_kinds(process);
    return collectives->kinds;
}

void trace_collectives_free(struct trace_collectives *collectives)
{
    qmpi_table_free(&collectives->by_request);
    qmpi_table_free(&collectives->by_location);
    free(collectives->kinds);
}

static struct trace_collectives_part describe_part(const struct trace_collectives *collectives,
                                                   const struct trace_event *event,
                                                   const struct begun *begun,
                                                   enum trace_collectives_role role)
{
    const struct trace_process *process = collectives->process;
    struct trace_collectives_part it = {.role = role,
                                        .number = begun->number,
                                        .function = begun->function,
                                        .receives = event->received > 0};
    if (begun->function < process->function_count)
        it.kind = collectives->kinds[begun->function];
    if (event->comm >= process->comm_count || !begun->number)
        return (struct trace_collectives_part){COLLECTIVE_NO_PART, .function = TRACE_NONE};
    const struct trace_comm *comm = &process->comms[event->comm];
    if (comm->remote || comm->rank < 0)
        it.kind = COLLECTIVE_OTHER;
    it.rank = comm->rank;
    it.size = comm->size;
    it.is_root = event->root >= 0 && event->root == comm->rank;
    return it;
}

static void put_begun(struct qmpi_table *table, uint64_t key, const struct begun *begun)
{
    struct begun *place = qmpi_table_put(table, key);
    if (place)
        *place = *begun;
}

static struct trace_collectives_part end_begun(struct trace_collectives *collectives,
                                               struct qmpi_table *table, uint64_t key,
                                               const struct trace_event *event)
{
    const struct begun *place = qmpi_table_get(table, key);
    if (!place)
        return (struct trace_collectives_part){COLLECTIVE_NO_PART, .function = TRACE_NONE};
    const struct begun begun = *place;
    qmpi_table_remove(table, key);
    return describe_part(collectives, event, &begun, COLLECTIVE_ENDS);
}

bool trace_collectives_waits(const struct trace_collectives_part *part)
{
    switch (part->kind) {
    case COLLECTIVE_OTHER:
        return false;
    case COLLECTIVE_BARRIER:
        return true;
    case COLLECTIVE_TO_ROOT:
        return part->receives && part->is_root;
    case COLLECTIVE_FROM_ROOT:
        return part->receives && !part->is_root;
    default:
        return part->receives;
    }
}

struct trace_collectives_part trace_collectives_next(struct trace_collectives *collectives,
                                                     const struct trace_event *event,
                                                     uint64_t number)
{
    struct begun begun = {number, event->function};
    switch (event->kind) {
    case TRACE_ENTER: /* the function of a collective is that of its call */
        put_begun(&collectives->by_location, event->location, &begun);
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST: {
        const struct begun *call = qmpi_table_get(&collectives->by_location, event->location);
        if (begun.function == TRACE_NONE && call)
            begun.function = call->function;
        if (event->kind == TRACE_COLLECTIVE_BEGIN)
            put_begun(&collectives->by_location, event->location, &begun);
        else
            put_begun(&collectives->by_request, event->request, &begun);
        return describe_part(collectives, event, &begun, COLLECTIVE_BEGINS);
    }
    case TRACE_COLLECTIVE_END:
        return end_begun(collectives, &collectives->by_location, event->location, event);
    case TRACE_ICOLLECTIVE_COMPLETE:
        return end_begun(collectives, &collectives->by_request, event->request, event);
    case TRACE_REQUEST_FREED:
        qmpi_table_remove(&collectives->by_request, event->request);
        break;
    default:
        break;
    }
    return (struct trace_collectives_part){COLLECTIVE_NO_PART, .function = TRACE_NONE};
}
