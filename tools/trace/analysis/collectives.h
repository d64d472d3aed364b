/* SPDX-License-Identifier: MIT */
/*
 * The collective that an event of a process is part of: its begin tells its number, its end does
 * not. Follows the events of one process in the order of time.
 */
#ifndef QMPI_TRACE_ANALYSIS_COLLECTIVES_H
#define QMPI_TRACE_ANALYSIS_COLLECTIVES_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"
#include "util/util.h"

#include <stdbool.h>

/*
 * Members that receive data of others cannot leave a collective before these have entered, whatever
 * the MPI library does. The kind says who waits for whom.
 */
enum trace_collectives_kind {
    COLLECTIVE_OTHER,     /* nobody need wait, as far as is known */
    COLLECTIVE_BARRIER,   /* all for all */
    COLLECTIVE_ALL,       /* all that receive data for all */
    COLLECTIVE_FROM_ROOT, /* all others that receive data for the root */
    COLLECTIVE_TO_ROOT,   /* the root for all */
    COLLECTIVE_PREFIX     /* each for those with a lower rank */
};

/* Whether an event begins or ends a collective. */
enum trace_collectives_role { COLLECTIVE_NO_PART, COLLECTIVE_BEGINS, COLLECTIVE_ENDS };

struct trace_collectives_part {
    enum trace_collectives_role part;
    uint64_t number; /* of the collective, as trace_messages_next has told */
    enum trace_collectives_kind kind;
    bool is_root, receives; /* receives: at its end, it has data of others */
    int rank, size;         /* of the communicator */
    uint32_t function;      /* that began it */
};

struct trace_collectives {
    const struct trace_process *process;
    unsigned char *kinds;
    struct qmpi_table by_request, by_location; /* what has begun */
};

bool trace_collectives_start(struct trace_collectives *collectives,
                             const struct trace_process *process);
void trace_collectives_free(struct trace_collectives *collectives);

/* Whether the member cannot leave the collective before others have entered it. */
bool trace_collectives_waits(const struct trace_collectives_part *part);

/* To be called for each event of the process. `number` is the result of trace_messages_next. */
struct trace_collectives_part trace_collectives_next(struct trace_collectives *collectives,
                                                     const struct trace_event *event,
                                                     uint64_t number);

#endif
