/* SPDX-License-Identifier: MIT */
/*
 * The order in which the events of all processes are read to find the critical path: each event
 * follows those on which it depends. Events are read in order of time, except that a process waits
 * at the end of a receive or collective until the other side was read. Therefore, dependencies are
 * found even if the clocks of processes differ, by up to the bound of the trace.
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
    struct qmpi_table waiting; /* number of the awaited message or collective -> uint32_t, the first
                                  process that waits for it, plus 1 */
    size_t waiting_count;
    /* Time of the earliest event at which a process that is not firm (see trace_path_order_wait)
     * waits, or INT64_MAX if there is none. */
    int64_t earliest_waiting;
    bool failed; /* memory was exhausted */
};

/* Makes an empty order. Returns false if memory is exhausted; the order must be freed in any
 * case. */
bool trace_path_order_start(struct trace_path_order *order, const struct trace *trace);
void trace_path_order_free(struct trace_path_order *order);

/* Adds a process whose next event has this time. */
void trace_path_order_add(struct trace_path_order *order, uint32_t process, int64_t time);

/* Stores in *process the process whose event must be read next, and removes it from the order. The
 * caller adds the process again with its next event, unless the process waits. Returns false if no
 * process is left. */
bool trace_path_order_next(struct trace_path_order *order, uint32_t *process);

/*
 * Lets a process that trace_path_order_next has just returned wait for the message or collective
 * with this number.
 * Afterwards, trace_path_order_next returns the process again for the same event. A process gives
 * up waiting when the events of the others are so much later that the awaited event cannot come any
 * more; a firm process gives up only when no process can continue. Returns true if the process must
 * not wait, because the awaited event is not in the trace or memory is exhausted.
 */
bool trace_path_order_wait(struct trace_path_order *order, uint32_t process, uint64_t number,
                           bool is_firm);

/* Ends the waiting of all processes for a message or a collective. */
void trace_path_order_wake(struct trace_path_order *order, uint64_t number);

#endif
