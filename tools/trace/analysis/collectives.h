/* SPDX-License-Identifier: MIT */
/*
 * Finds the collective to which an event of a process belongs. Only the begin of a collective has
 * its number. To find the number for its end, the events of one process are followed in order of
 * time.
 */
#ifndef QMPI_TRACE_ANALYSIS_COLLECTIVES_H
#define QMPI_TRACE_ANALYSIS_COLLECTIVES_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"
#include "util/util.h"

#include <stdbool.h>

/*
 * In any MPI library, a member that receives data from others cannot leave a collective before
 * these have entered it. The kind determines who waits for whom.
 */
enum trace_collectives_kind {
    COLLECTIVE_OTHER,     /* as far as is known, no member must wait */
    COLLECTIVE_BARRIER,   /* all members wait for all */
    COLLECTIVE_ALL,       /* all members that receive data wait for all */
    COLLECTIVE_FROM_ROOT, /* all other members that receive data wait for the root */
    COLLECTIVE_TO_ROOT,   /* the root waits for all if it receives data */
    COLLECTIVE_PREFIX     /* each member that receives data waits for those with lower ranks */
};

/* The role of an event in a collective. */
enum trace_collectives_role { COLLECTIVE_NO_PART, COLLECTIVE_BEGINS, COLLECTIVE_ENDS };

struct trace_collectives_part {
    enum trace_collectives_role role;
    uint64_t number; /* number of the collective: the result of trace_messages_next */
    enum trace_collectives_kind kind;
    bool is_root, receives; /* receives: at its end, the member has received data of others */
    int rank, size;         /* in the communicator */
    uint32_t function;      /* the function that began the collective */
};

struct trace_collectives {
    const struct trace_process *process;
    unsigned char *kinds;
    struct qmpi_table by_request, by_location; /* collectives in progress */
};

/* Returns false if memory is exhausted. `collectives` must be freed in any case. */
bool trace_collectives_start(struct trace_collectives *collectives,
                             const struct trace_process *process);
void trace_collectives_free(struct trace_collectives *collectives);

/* Returns whether the member must wait until others have entered the collective. */
bool trace_collectives_waits(const struct trace_collectives_part *part);

/* Returns the role of an event in a collective. Must be called for each event of the process.
 * `number` is the result of trace_messages_next. */
struct trace_collectives_part trace_collectives_next(struct trace_collectives *collectives,
                                                     const struct trace_event *event,
                                                     uint64_t number);

#endif
