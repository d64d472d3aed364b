/* SPDX-License-Identifier: MIT */
/* See path_order.h. */
#include "tools/trace/profile/path_order.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

struct trace_path_order_process {
    int64_t time; /* time of its next event */
    bool is_waiting, is_firm;
    bool goes_on; /* it continues, because the event for which it waited is not in the trace */
    uint64_t awaited;
    uint32_t next_waiting; /* index + 1 of the next process that waits for the same message or
                              collective, or 0 */
};

static bool is_earlier(const void *context, const void *one, const void *other)
{
    const struct trace_path_order *order = context;
    const uint32_t mine = *(const uint32_t *)one, its = *(const uint32_t *)other;
    const int64_t my_time = order->processes[mine].time, its_time = order->processes[its].time;
    return my_time < its_time || (my_time == its_time && mine < its);
}

bool trace_path_order_start(struct trace_path_order *order, const struct trace *trace)
{
    *order = (struct trace_path_order){.trace = trace, .earliest_waiting = INT64_MAX};
    trace_heap_start(&order->ready, sizeof(uint32_t), is_earlier, order);
    qmpi_table_start(&order->waiting, sizeof(uint32_t));
    order->processes = calloc(trace->process_count + 1, sizeof *order->processes);
    return order->processes;
}

void trace_path_order_free(struct trace_path_order *order)
{
    trace_heap_free(&order->ready);
    qmpi_table_free(&order->waiting);
    free(order->processes);
}

static void push_ready(struct trace_path_order *order, uint32_t process)
{
    order->failed |= !trace_heap_push(&order->ready, &process);
}

void trace_path_order_add(struct trace_path_order *order, uint32_t process, int64_t time)
{
    order->processes[process].time = time;
    order->processes[process].goes_on = false;
    push_ready(order, process);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void find_earliest_waiting(struct trace_path_order *order)
{
    order->earliest_waiting = INT64_MAX;
    for (uint32_t i = 0; order->waiting_count && i < order->trace->process_count; i++) {
        const struct trace_path_order_process *it = &order->processes[i];
        if (it->is_waiting && !it->is_firm && it->time < order->earliest_waiting)
            order->earliest_waiting = it->time;
    }
}

bool trace_path_order_wait(struct trace_path_order *order, uint32_t process, uint64_t number,
                           bool is_firm)
{
    struct trace_path_order_process *it = &order->processes[process];
    if (it->goes_on)
        return true;
    uint32_t *first = qmpi_table_put(&order->waiting, number);
    if (!first) {
        order->failed = true;
        return true;
    }
    it->next_waiting = *first;
    *first = process + 1;
    it->awaited = number;
    it->is_waiting = true;
    it->is_firm = is_firm;
    order->waiting_count++;
    if (!is_firm && it->time < order->earliest_waiting)
        order->earliest_waiting = it->time;
    return false;
}

static void end_waiting(struct trace_path_order *order, uint32_t process)
{
    struct trace_path_order_process *it = &order->processes[process];
    it->is_waiting = false;
    order->waiting_count--;
    if (!it->is_firm && it->time == order->earliest_waiting)
        find_earliest_waiting(order);
    push_ready(order, process);
}

void trace_path_order_wake(struct trace_path_order *order, uint64_t number)
{
    const uint32_t *first = order->waiting_count ? qmpi_table_get(&order->waiting, number) : NULL;
    uint32_t next = first ? *first : 0;
    if (first)
        qmpi_table_remove(&order->waiting, number);
    while (next) {
        const uint32_t process = next - 1;
        next = order->processes[process].next_waiting;
        end_waiting(order, process);
    }
}

/* ---- Going on -------------------------------------------------------------------------------- */

/* Returns whether an event for which a process that is not firm waits may still come. No such event
 * can come any more if the next event is later than the earliest of these processes by more than
 * the bound of the trace. */
static bool may_still_come(const struct trace_path_order *order)
{
    const struct trace *trace = order->trace;
    const uint32_t *first = trace_heap_first(&order->ready);
    const int64_t bound = trace->bound < INT64_MAX ? (int64_t)trace->bound : INT64_MAX;
    return first && (!trace->has_bound || trace_clock_subtract(order->processes[*first].time,
                                                               bound) <= order->earliest_waiting);
}

/* If the awaited events of some waiting processes cannot come any more, lets the earliest of these
 * processes continue. */
static void go_on(struct trace_path_order *order)
{
    uint32_t found = NOBODY;
    if (!order->waiting_count || may_still_come(order))
        return;
    for (uint32_t i = 0; i < order->trace->process_count; i++) {
        const struct trace_path_order_process *it = &order->processes[i];
        if (it->is_waiting && !(order->ready.count && it->is_firm) &&
            (found == NOBODY || is_earlier(order, &i, &found)))
            found = i;
    }
    if (found == NOBODY)
        return;
    struct trace_path_order_process *it = &order->processes[found];
    uint32_t *place = qmpi_table_get(&order->waiting, it->awaited);
    while (place && *place && *place != found + 1)
        place = &order->processes[*place - 1].next_waiting;
    if (place)
        *place = it->next_waiting;
    it->goes_on = true;
    end_waiting(order, found);
}

bool trace_path_order_next(struct trace_path_order *order, uint32_t *process)
{
    go_on(order);
    const uint32_t *first = trace_heap_first(&order->ready);
    if (!first)
        return false;
    *process = *first;
    trace_heap_take(&order->ready, 0);
    return true;
}
