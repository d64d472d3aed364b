/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#include "trace/stack.h"

#include <stdlib.h>

void trace_stack_free(struct trace_stack *stack)
{
    free(stack->calls);
    *stack = (struct trace_stack){0};
}

bool trace_stack_push(struct trace_stack *stack, struct trace_call call)
{
    if (stack->depth == stack->room) {
        const size_t room = stack->room ? 2 * stack->room : 8;
        struct trace_call *calls = realloc(stack->calls, room * sizeof *calls);
        if (!calls)
            return false;
        stack->calls = calls;
        stack->room = room;
    }
    stack->calls[stack->depth++] = call;
    return true;
}

bool trace_stack_put(const struct trace_stack *stack, struct trace_bytes *out, uint64_t ticks,
                     uint64_t number)
{
    trace_put_varint(out, stack->depth);
    for (size_t i = 0; i < stack->depth; i++) {
        const struct trace_call *call = &stack->calls[i];
        trace_put_varint(out, call->function);
        trace_put_varint(out, call->site);
        trace_put_varint(out, ticks - call->ticks);
        trace_put_varint(out, number - call->number);
    }
    return !out->failed;
}

bool trace_stack_take(struct trace_stack *stack, struct trace_input *input, uint64_t ticks,
                      uint64_t number)
{
    const uint64_t depth = trace_take_limited(input, TRACE_DEPTH_MAX);
    stack->depth = 0;
    for (uint64_t i = 0; i < depth && !input->failed; i++) {
        struct trace_call call = {.function = (uint32_t)trace_take_limited(input, UINT32_MAX)};
        call.site = (uint32_t)trace_take_limited(input, UINT32_MAX);
        call.ticks = ticks - trace_take_limited(input, ticks);
        call.number = number - trace_take_limited(input, number);
        const struct trace_call *outer = i ? &stack->calls[i - 1] : NULL;
        if (call.number == number ||
            (outer && (call.ticks < outer->ticks || call.number <= outer->number)))
            input->failed = true;
        if (!input->failed && !trace_stack_push(stack, call))
            return false;
    }
    return !input->failed;
}
