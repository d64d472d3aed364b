/* SPDX-License-Identifier: MIT */
/*
 * The calls in progress of a stream, the outermost first. A stack has at most TRACE_DEPTH_MAX: in
 * deeper recursion, which no real program reaches, further calls are not recorded.
 */
#ifndef QMPI_TRACE_STACK_H
#define QMPI_TRACE_STACK_H

#include "trace/bytes.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_DEPTH_MAX 10000

struct trace_call {
    uint32_t function, site;
    uint64_t ticks;  /* of its TRACE_ENTER */
    uint64_t number; /* of that event in the stream */
};

struct trace_stack {
    struct trace_call *calls;
    size_t depth, room;
};

void trace_stack_free(struct trace_stack *stack);
bool trace_stack_push(struct trace_stack *stack, struct trace_call call);

/* Pushes or pops what `event` begins or ends. Returns false if memory is exhausted. */
static inline bool trace_stack_note(struct trace_stack *stack, const struct trace_event *event,
                                    uint64_t ticks, uint64_t number)
{
    if (event->kind == TRACE_ENTER)
        return trace_stack_push(stack,
                                (struct trace_call){event->function, event->site, ticks, number});
    if ((event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) && stack->depth)
        stack->depth--;
    return true;
}

/* The stack at the beginning of a block, whose first event is `number` at `ticks`. */
bool trace_stack_put(const struct trace_stack *stack, struct trace_bytes *out, uint64_t ticks,
                     uint64_t number);
bool trace_stack_take(struct trace_stack *stack, struct trace_input *input, uint64_t ticks,
                      uint64_t number);

#endif
