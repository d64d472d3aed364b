/* SPDX-License-Identifier: MIT */
/*
 * The collective that an event is part of: its begin tells its number, its end does not. Follows
 * the events of one process in order of time.
 */
#ifndef QMPI_TRACE_INSTANCES_H
#define QMPI_TRACE_INSTANCES_H

#include "trace/collective_kind.h"
#include "trace/event.h"
#include "trace/table.h"

/* What an event is of a collective. */
enum instance_part { INSTANCE_NONE, INSTANCE_BEGIN, INSTANCE_END };

struct instance_part_of {
    enum instance_part part;
    uint64_t number; /* of the collective, as trace_messages_next has told */
    enum collective_kind kind;
    bool is_root, receives; /* receives: at its end, it has data of others */
    int rank, size;         /* of the communicator */
    uint32_t function;      /* that began it */
};

struct trace_instances {
    const struct trace_process *process;
    unsigned char *kinds;
    struct trace_table by_request, by_location; /* what has begun */
};

bool trace_instances_start(struct trace_instances *instances, const struct trace_process *process);
void trace_instances_free(struct trace_instances *instances);

/* To be called for each event of the process. `number` is the result of trace_messages_next. */
struct instance_part_of trace_instances_next(struct trace_instances *instances,
                                             const struct trace_event *event, uint64_t number);

#endif
