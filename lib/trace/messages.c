/* SPDX-License-Identifier: MIT */
/* See messages.h. */
#include "trace/messages.h"

#include "trace/channel.h"
#include "trace/receive_order.h"
#include "trace/table.h"

#include <stdlib.h>

struct trace_messages {
    const struct trace_process *process;
    struct trace_table sent, received, collectives; /* how many, by channel or communicator */
    struct trace_table cancelled;                   /* sends, by request */
    struct receive_exception *exceptions;
    size_t exception_count, exception;
    uint64_t completions;
    bool has_gaps;
};

bool trace_is_send(const struct trace_event *event)
{
    return event->kind == TRACE_SEND || event->kind == TRACE_ISEND;
}

bool trace_is_receive(const struct trace_event *event)
{
    return event->kind == TRACE_RECV || event->kind == TRACE_IRECV;
}

/* ---- The first reading ----------------------------------------------------------------------- */

static void learn(struct trace_messages *messages, struct receive_order *order,
                  const struct trace_event *event)
{
    const bool is_message = trace_is_send(event) || trace_is_receive(event);
    if (event->kind == TRACE_OFF || event->kind == TRACE_DROPPED ||
        (is_message && event->comm == TRACE_NONE && event->peer != TRACE_PROC_NULL) ||
        (event->kind == TRACE_REQUEST_FREED && receive_order_is_pending(order, event->request)))
        messages->has_gaps = true;
    if (event->kind == TRACE_REQUEST_CANCELLED && !receive_order_is_pending(order, event->request))
        trace_table_put(&messages->cancelled, event->request);
    receive_order_add(order, event);
}

static bool read_first(struct trace_messages *messages, const struct trace *trace, uint32_t process)
{
    bool failed = false;
    struct trace_event event;
    struct receive_order *order = receive_order_make(messages->process);
    struct trace_cursor *cursor =
        order ? trace_cursor_make(trace, process, TRACE_NONE, NULL) : NULL;
    while (cursor && trace_cursor_next(cursor, &event, NULL))
        learn(messages, order, &event);
    if (cursor)
        messages->exceptions = receive_order_finish(order, &messages->exception_count, &failed);
    failed |= !cursor || messages->cancelled.failed;
    trace_cursor_free(cursor);
    receive_order_free(order);
    return !failed;
}

struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process)
{
    struct trace_messages *messages = calloc(1, sizeof *messages);
    if (!messages)
        return NULL;
    messages->process = &trace->processes[process];
    trace_table_start(&messages->sent, sizeof(uint64_t));
    trace_table_start(&messages->received, sizeof(uint64_t));
    trace_table_start(&messages->collectives, sizeof(uint64_t));
    trace_table_start(&messages->cancelled, 1);
    if (read_first(messages, trace, process))
        return messages;
    trace_messages_free(messages);
    return NULL;
}

void trace_messages_free(struct trace_messages *messages)
{
    if (!messages)
        return;
    trace_table_free(&messages->sent);
    trace_table_free(&messages->received);
    trace_table_free(&messages->collectives);
    trace_table_free(&messages->cancelled);
    free(messages->exceptions);
    free(messages);
}

/* ---- Further ones ---------------------------------------------------------------------------- */

void trace_messages_rewind(struct trace_messages *messages)
{
    trace_table_free(&messages->sent);
    trace_table_free(&messages->received);
    trace_table_free(&messages->collectives);
    messages->exception = 0;
    messages->completions = 0;
}

/* How many there were before. */
static bool count(struct trace_table *table, uint64_t key, uint64_t *number)
{
    uint64_t *place = trace_table_put(table, key);
    if (place)
        *number = (*place)++;
    return place;
}

static uint64_t message(uint64_t channel, uint64_t number)
{
    return channel + number ? channel + number : 1;
}

static uint64_t next_send(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    const uint64_t channel =
        trace_channel(messages->process, event->comm, event->peer, event->tag, true);
    if (!channel ||
        (event->kind == TRACE_ISEND && trace_table_get(&messages->cancelled, event->request)) ||
        !count(&messages->sent, channel, &number))
        return 0;
    return message(channel, number);
}

static uint64_t next_receive(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    const uint64_t channel =
        trace_channel(messages->process, event->comm, event->peer, event->tag, false);
    if (!channel || !count(&messages->received, channel, &number))
        return 0;
    const uint64_t completion = messages->completions++;
    if (messages->exception < messages->exception_count &&
        messages->exceptions[messages->exception].completion == completion)
        number = messages->exceptions[messages->exception++].number;
    return message(channel, number);
}

static uint64_t next_collective(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    if (event->comm >= messages->process->comm_count || !messages->process->comms[event->comm].id ||
        !count(&messages->collectives, messages->process->comms[event->comm].id, &number))
        return 0;
    return trace_collective(messages->process, event->comm, number);
}

uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event)
{
    if (trace_is_send(event))
        return next_send(messages, event);
    if (trace_is_receive(event))
        return next_receive(messages, event);
    if (event->kind == TRACE_COLLECTIVE_BEGIN || event->kind == TRACE_ICOLLECTIVE_REQUEST)
        return next_collective(messages, event);
    return 0;
}

bool trace_messages_failed(const struct trace_messages *messages)
{
    return messages->sent.failed || messages->received.failed || messages->collectives.failed;
}

bool trace_messages_have_gaps(const struct trace_messages *messages)
{
    return messages->has_gaps;
}

uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm)
{
    const uint64_t *number = trace_table_get(&messages->collectives, comm);
    return number ? *number : 0;
}
