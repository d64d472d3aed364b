/* SPDX-License-Identifier: MIT */
/* The parts of check.h: one for the events of threads, one for messages, one for collectives. */
#ifndef QMPI_TRACE_CHECK_PARTS_H
#define QMPI_TRACE_CHECK_PARTS_H

#include "trace/check.h"
#include "trace/instances.h"
#include "trace/table.h"

/* The calls in progress of a thread. */
struct check_thread {
    uint32_t *functions;
    size_t depth, room;
    uint64_t ticks;
};

struct check_process {
    struct check_thread *threads;
    struct trace_instances instances;
    bool is_partial;     /* what others have with it may be missing */
    bool lacks_messages; /* the same of messages, which it has none of, or some */
    uint64_t gap;        /* ticks: before this, nothing is missing */
};

struct checking {
    struct trace_check *check;
    const struct trace_view *view;
    struct check_process *processes;
    struct trace_table messages, collectives;
    struct trace_table ranks; /* by rank in MPI_COMM_WORLD: uint32_t, index of the process */
    int64_t bound;
    bool failed;
};

/* Where something is. */
struct check_place {
    int64_t time;
    uint32_t process, function;
};

/* Notes a difference. */
void check_note(struct checking *checking, const struct check_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds the ticks of the first gap of a process; UINT64_MAX: it has none. Returns false if memory
 * is exhausted. */
bool check_find_gap(const struct trace *trace, uint32_t process, uint64_t *ticks);

/* Finds the process of a rank in MPI_COMM_WORLD. Returns false if it is not in the view, or is
 * partial. */
bool check_find_rank(const struct checking *checking, int rank, uint32_t *process);

void check_messages_start(struct checking *checking);
void check_message(struct checking *checking, const struct check_place *place,
                   const struct trace_event *event, uint64_t message);
void check_messages_end(struct checking *checking);

void check_collectives_start(struct checking *checking);
void check_collective(struct checking *checking, const struct check_place *place,
                      const struct trace_event *event, const struct instance_part_of *part);
void check_collectives_end(struct checking *checking);

#endif
