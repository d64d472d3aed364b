/* SPDX-License-Identifier: MIT */
/*
 * The order in which the events of all processes are read to find the critical path: each event
 * follows those on which it depends. It is the order of times, except that a process waits at the
 * end of a receive or collective until the other side was read. Therefore, dependencies are found
 * even if the clocks of processes differ by more than the bound of the trace.
 */
#ifndef QMPI_TRACE_PROFILE_PATH_ORDER_H
#define QMPI_TRACE_PROFILE_PATH_ORDER_H

#include "tools/trace/file/heap.h"
#include "tools/trace/file/reader.h"
#include "util/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_path_order {
    const struct trace *trace;
    struct trace_path_order_process *processes;
    struct trace_heap ready;   /* uint32_t: processes, ordered by the times of their next events */
    struct qmpi_table waiting; /* what is awaited -> uint32_t, the first process that waits for
                                  it */
    size_t waiting_count;
    int64_t earliest_waiting; /* the earliest event of processes that wait and are not firm */
    bool failed;              /* memory was exhausted */
};

/* Makes an empty order. Returns false if memory is exhausted; the order must be freed in any
 * case. */
bool trace_path_order_start(struct trace_path_order *order, const struct trace *trace);
void trace_path_order_free(struct trace_path_order *order);

/* Adds a process whose next event has this time. */
void trace_path_order_add(struct trace_path_order *order, uint32_t process, int64_t time);

/* Removes the process whose event is to be read next, and stores it in *process. The caller adds it
 * again with its next event, unless it waits. Returns false if no process is left. */
bool trace_path_order_next(struct trace_path_order *order, uint32_t *process);

/*
 * Lets the process that was removed last wait for a message or a collective, which is given by its
 * number; its event will be read again. A firm process waits even if the events of the others are
 * much later. If the awaited event is not in the trace, returns true, and the process does not
 * wait.
 */
bool trace_path_order_wait(struct trace_path_order *order, uint32_t process, uint64_t number,
                           bool is_firm);

/* Ends the waiting of all processes for a message or a collective. */
void trace_path_order_wake(struct trace_path_order *order, uint64_t number);

#endif
