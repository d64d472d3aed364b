/* SPDX-License-Identifier: MIT */
/*
 * The order in which the events of the processes of a trace are read for its critical path: each
 * event follows those on which it depends. It is the order of their times, except that a process
 * waits at the end of a receive or of a collective until the other side has been read. Clocks of
 * processes that differ by more than the trace knows can therefore not hide a dependency.
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
    struct trace_heap ready;   /* uint32_t: processes, that with the earliest event first */
    struct qmpi_table waiting; /* by what they wait for: uint32_t, the first process */
    size_t waiting_count;
    int64_t earliest_waiting; /* time of the events of processes that wait, and are not firm */
    bool failed;              /* memory is exhausted */
};

/* Begins without any process. Returns false if memory is exhausted; free it in any case. */
bool trace_path_order_start(struct trace_path_order *order, const struct trace *trace);
void trace_path_order_free(struct trace_path_order *order);

/* Adds a process whose next event has this time. */
void trace_path_order_add(struct trace_path_order *order, uint32_t process, int64_t time);

/* Removes the process whose event is to be read, and sets *process to it. Unless this process waits
 * then, the caller adds it again with its next event. Returns false if no process is left. */
bool trace_path_order_next(struct trace_path_order *order, uint32_t *process);

/*
 * Makes the process that was removed last wait for a message or a collective, by its number: its
 * event is to be read again. A process that is firm waits however late the events of the others
 * are. Returns true, and the process does not wait, if what it waits for is not in the trace.
 */
bool trace_path_order_wait(struct trace_path_order *order, uint32_t process, uint64_t number,
                           bool is_firm);

/* Ends the waiting of all processes that wait for a message or a collective. */
void trace_path_order_wake(struct trace_path_order *order, uint64_t number);

#endif
