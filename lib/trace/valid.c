/* SPDX-License-Identifier: MIT */
/* See valid.h. */
#include "trace/valid.h"

static bool has_object(const struct trace_process *process, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        return event->object < process->window_count;
    case TRACE_IO_REQUEST:
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        return event->object < process->file_count;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        return event->object < process->region_count;
    case TRACE_COUNTER:
        return event->object < process->counter_count;
    case TRACE_CALL_OBJECT:
        return event->object < process->file_count || event->object == TRACE_NONE;
    default:
        return true;
    }
}

/* That of a message need not be known. */
static bool has_comm(const struct trace_process *process, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_SEND:
    case TRACE_RECV:
    case TRACE_ISEND:
    case TRACE_IRECV_REQUEST:
    case TRACE_IRECV:
    case TRACE_CALL_OBJECT:
        return event->comm < process->comm_count || event->comm == TRACE_NONE;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_COLLECTIVE_END:
    case TRACE_ICOLLECTIVE_REQUEST:
    case TRACE_ICOLLECTIVE_COMPLETE:
    case TRACE_COMM_CREATE:
    case TRACE_COMM_DESTROY:
        return event->comm < process->comm_count;
    default:
        return true;
    }
}

bool trace_event_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_event *event)
{
    if (event->site >= process->site_count)
        event->site = TRACE_NONE;
    if (event->function >= process->function_count)
        event->function = event->kind == TRACE_ENTER ? unknown : TRACE_NONE;
    if (event->kind == TRACE_ENTER && event->function == TRACE_NONE)
        return false;
    return has_comm(process, event) && has_object(process, event);
}

bool trace_stack_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_stack *stack)
{
    for (size_t i = 0; i < stack->depth; i++) {
        if (stack->calls[i].function >= process->function_count)
            stack->calls[i].function = unknown;
        if (stack->calls[i].function == TRACE_NONE)
            return false;
        if (stack->calls[i].site >= process->site_count)
            stack->calls[i].site = TRACE_NONE;
    }
    return true;
}
