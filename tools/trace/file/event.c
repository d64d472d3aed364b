/* SPDX-License-Identifier: MIT */
/* See event.h. */
#include "tools/trace/file/event.h"

#define MESSAGE                                                                                    \
    (TRACE_FIELD_BIT(COMM) | TRACE_FIELD_BIT(PEER) | TRACE_FIELD_BIT(TAG) | TRACE_FIELD_BIT(BYTES))
#define ACCESS                                                                                     \
    (TRACE_FIELD_BIT(OBJECT) | TRACE_FIELD_BIT(BYTES) | TRACE_FIELD_BIT(RECEIVED) |                \
     TRACE_FIELD_BIT(REQUEST))
#define BEGINS (TRACE_FIELD_BIT(REQUEST) | TRACE_FIELD_BIT(BEGINS))
#define COLLECTIVE                                                                                 \
    (TRACE_FIELD_BIT(COMM) | TRACE_FIELD_BIT(ROOT) | TRACE_FIELD_BIT(BYTES) |                      \
     TRACE_FIELD_BIT(RECEIVED))

const uint32_t trace_event_fields[TRACE_KINDS] = {
    [TRACE_ENTER] = TRACE_FIELD_BIT(FUNCTION) | TRACE_FIELD_BIT(SITE),
    [TRACE_SEND] = MESSAGE,
    [TRACE_RECV] = MESSAGE,
    [TRACE_ISEND] = MESSAGE | BEGINS,
    [TRACE_ISEND_COMPLETE] = TRACE_FIELD_BIT(REQUEST),
    [TRACE_IRECV_REQUEST] = MESSAGE | BEGINS,
    [TRACE_IRECV] = MESSAGE | TRACE_FIELD_BIT(REQUEST),
    [TRACE_REQUEST_TEST] = TRACE_FIELD_BIT(REQUEST),
    [TRACE_REQUEST_CANCELLED] = TRACE_FIELD_BIT(REQUEST),
    [TRACE_REQUEST_FREED] = TRACE_FIELD_BIT(REQUEST),
    [TRACE_COLLECTIVE_BEGIN] = TRACE_FIELD_BIT(COMM) | TRACE_FIELD_BIT(ROOT),
    [TRACE_COLLECTIVE_END] = COLLECTIVE,
    [TRACE_ICOLLECTIVE_REQUEST] = TRACE_FIELD_BIT(COMM) | TRACE_FIELD_BIT(ROOT) | BEGINS,
    [TRACE_ICOLLECTIVE_COMPLETE] =
        COLLECTIVE | TRACE_FIELD_BIT(FUNCTION) | TRACE_FIELD_BIT(REQUEST),
    [TRACE_RMA_PUT] = ACCESS | TRACE_FIELD_BIT(PEER) | BEGINS,
    [TRACE_RMA_GET] = ACCESS | TRACE_FIELD_BIT(PEER) | BEGINS,
    [TRACE_RMA_ATOMIC] = ACCESS | TRACE_FIELD_BIT(PEER) | BEGINS,
    [TRACE_RMA_COMPLETE] = TRACE_FIELD_BIT(REQUEST),
    [TRACE_IO_REQUEST] = TRACE_FIELD_BIT(OBJECT) | BEGINS,
    [TRACE_IO] = ACCESS,
    [TRACE_COMM_CREATE] = TRACE_FIELD_BIT(COMM),
    [TRACE_COMM_DESTROY] = TRACE_FIELD_BIT(COMM),
    [TRACE_WIN_CREATE] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_WIN_DESTROY] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_FILE_OPEN] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_FILE_CLOSE] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_REGION_BEGIN] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_REGION_END] = TRACE_FIELD_BIT(OBJECT),
    [TRACE_COUNTER] = TRACE_FIELD_BIT(OBJECT) | TRACE_FIELD_BIT(VALUE),
    [TRACE_DROPPED] = TRACE_FIELD_BIT(BYTES),
    [TRACE_FLUSH] = TRACE_FIELD_BIT(BYTES),
    [TRACE_CALL_OBJECT] = TRACE_FIELD_BIT(COMM) | TRACE_FIELD_BIT(OBJECT),
};

void trace_event_clear(struct trace_event *event, enum trace_event_kind kind, uint64_t ticks)
{
    *event = (struct trace_event){.kind = kind,
                                  .ticks = ticks,
                                  .function = TRACE_NONE,
                                  .site = TRACE_NONE,
                                  .comm = TRACE_NONE,
                                  .object = TRACE_NONE,
                                  .peer = TRACE_UNDEFINED,
                                  .tag = TRACE_UNDEFINED,
                                  .root = TRACE_UNDEFINED,
                                  .request = TRACE_NO_REQUEST};
}

/* ---- References to definitions --------------------------------------------------------------- */

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

/* Returns whether the communicator of the event is valid. The communicator of a message may be
 * unknown, and TRACE_CALL_OBJECT may have none. */
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

int trace_event_world_rank(const struct trace_process *process, uint32_t comm, int rank)
{
    if (comm >= process->comm_count || rank < 0)
        return TRACE_UNDEFINED;
    const struct trace_comm *found = &process->comms[comm];
    const int *group = found->remote ? found->remote : found->group;
    return group && rank < (found->remote ? found->remote_size : found->size) ? group[rank]
                                                                              : TRACE_UNDEFINED;
}
