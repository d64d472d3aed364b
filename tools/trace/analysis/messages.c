/* SPDX-License-Identifier: MIT */
/* See messages.h. */
#include "tools/trace/analysis/messages.h"

#include "standard/standard.h"
#include "tools/trace/analysis/channel.h"
#include "tools/trace/file/cursor.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct trace_messages {
    const struct trace *trace;
    const struct trace_process *process;
    /* How many messages were sent and received, by channel, and how many collectives were begun,
     * by communicator. */
    struct qmpi_table sent, received, collectives;
    uint64_t completions; /* number of completed receives that have a channel */

    /* These are the results of the first reading. */
    struct qmpi_table cancelled; /* sends that were cancelled, by request */
    uint64_t gap;                /* see trace_messages_gap */
    uint64_t before_gap;         /* number of events before the gap */
    bool has_postings; /* receives may complete in an order that differs from that in which they
                          match messages */

    /* The second reading reads ahead until the place of a receive is known. */
    struct trace_cursor *ahead;
    struct trace_channel_order *order;
    uint64_t events_ahead; /* number of events that may still be read ahead */

    /* These are only for `guesses`. `last_function` is the function that was called last before the
     * position of the cursor that reads ahead, and `function_before` is the one that was called
     * before `last_function`. `part` is the number of the current part of the run; parts are
     * separated by times when recording was off. */
    bool guesses, is_off, is_off_ahead;
    uint32_t last_function, function_before;
    uint64_t part;

    /* These are for the receives of MPI_Isendrecv. */
    bool may_lack_sizes, lacks_size;
    uint32_t *functions;       /* by location: the function that was called last */
    struct qmpi_table unsized; /* pending requests without a size */
};

bool trace_messages_is_send(const struct trace_event *event)
{
    return event->kind == TRACE_SEND || event->kind == TRACE_ISEND;
}

bool trace_messages_is_receive(const struct trace_event *event)
{
    return event->kind == TRACE_RECV || event->kind == TRACE_IRECV;
}

/* ---- The first reading ----------------------------------------------------------------------- */

/* Returns whether a message is missing here, or may be missing. `posted` contains the pending
 * receives. */
static bool is_message_gap(const struct qmpi_table *posted, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_OFF:
    case TRACE_DROPPED:
        return true;
    case TRACE_REQUEST_FREED:
        return qmpi_table_get(posted, event->request);
    default:
        /* After an event whose message is unknown, no message can be numbered. (A receive of
         * MPI_Isendrecv has the arguments with which it was posted, which may be TRACE_ANY.) */
        return (trace_messages_is_send(event) || trace_messages_is_receive(event)) &&
               event->peer != TRACE_PROC_NULL &&
               (event->comm == TRACE_NONE || event->peer == TRACE_ANY || event->tag == TRACE_ANY);
    }
}

static void note_earlier(void *data, uint64_t request, void *value)
{
    uint64_t *ticks = data;
    const uint64_t posted = *(const uint64_t *)value;
    (void)request;
    if (posted < *ticks)
        *ticks = posted;
}

static void note_posted_receive(struct trace_messages *messages, struct qmpi_table *posted,
                                const struct trace_event *event)
{
    if (event->peer != TRACE_ANY && event->tag != TRACE_ANY &&
        !trace_channel_number(messages->process, event->comm, event->peer, event->tag, false))
        return;
    uint64_t *ticks = qmpi_table_put(posted, event->request);
    if (ticks && !*ticks)
        *ticks = event->ticks;
    messages->has_postings = true;
}

static void learn_event(struct trace_messages *messages, struct qmpi_table *posted,
                        const struct trace_event *event)
{
    if (messages->guesses ? event->kind == TRACE_DROPPED : is_message_gap(posted, event)) {
        /* It is also unknown which messages are received by the receives that are pending in the
         * gap. So the gap begins where the earliest of these receives was posted. */
        messages->gap = event->ticks;
        qmpi_table_each(posted, note_earlier, &messages->gap);
        return;
    }
    messages->before_gap++;
    switch (event->kind) {
    case TRACE_IRECV_REQUEST:
        note_posted_receive(messages, posted, event);
        break;
    case TRACE_REQUEST_CANCELLED:
        if (!qmpi_table_get(posted, event->request))
            qmpi_table_put(&messages->cancelled, event->request);
        /* fall through */
    case TRACE_IRECV:
    case TRACE_REQUEST_FREED:
        qmpi_table_remove(posted, event->request);
        break;
    case TRACE_OFF:
        qmpi_table_free(posted);
        break;
    default:
        break;
    }
}

static bool read_first(struct trace_messages *messages, uint32_t process)
{
    struct trace_event event;
    struct qmpi_table posted; /* pending receives: request -> ticks */
    struct trace_cursor *cursor = trace_cursor_make(messages->trace, process, TRACE_NONE, NULL);
    qmpi_table_start(&posted, sizeof(uint64_t));
    while (cursor && messages->gap == UINT64_MAX && trace_cursor_next(cursor, &event, NULL))
        learn_event(messages, &posted, &event);
    /* Events were dropped, but the place is unknown. */
    if (messages->process->dropped && messages->gap == UINT64_MAX)
        messages->gap = 0;
    const bool good = cursor && !posted.failed && !messages->cancelled.failed;
    trace_cursor_free(cursor);
    qmpi_table_free(&posted);
    return good;
}

/* Returns whether the beginning of a process is missing. If a process keeps only the last part (a
 * ring), it records at its end whether it has dropped anything. If it has no end, the beginning is
 * assumed to be missing. */
static bool lacks_beginning(const struct trace_process *process)
{
    return process->omits & TRACE_OMITS_BEGINNING ||
           (process->is_ring && process->end == TRACE_END_NONE);
}

struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process,
                                           bool guesses)
{
    struct trace_messages *messages = calloc(1, sizeof *messages);
    if (!messages)
        return NULL;
    messages->trace = trace;
    messages->process = &trace->processes[process];
    messages->guesses = guesses;
    messages->gap = lacks_beginning(messages->process) ? 0 : UINT64_MAX;
    qmpi_table_start(&messages->sent, sizeof(uint64_t));
    qmpi_table_start(&messages->received, sizeof(uint64_t));
    qmpi_table_start(&messages->collectives, sizeof(uint64_t));
    qmpi_table_start(&messages->cancelled, 1);
    qmpi_table_start(&messages->unsized, 1);
    messages->may_lack_sizes = trace_messages_may_lack_sizes(messages->process);
    messages->functions =
        calloc(messages->process->location_count + 1, sizeof *messages->functions);
    if (messages->functions && read_first(messages, process))
        return messages;
    trace_messages_free(messages);
    return NULL;
}

static void end_reading_ahead(struct trace_messages *messages)
{
    trace_cursor_free(messages->ahead);
    trace_channel_order_free(messages->order);
    messages->ahead = NULL;
    messages->order = NULL;
}

void trace_messages_free(struct trace_messages *messages)
{
    if (!messages)
        return;
    qmpi_table_free(&messages->sent);
    qmpi_table_free(&messages->received);
    qmpi_table_free(&messages->collectives);
    qmpi_table_free(&messages->cancelled);
    qmpi_table_free(&messages->unsized);
    end_reading_ahead(messages);
    free(messages->functions);
    free(messages);
}

/* ---- Reading ahead --------------------------------------------------------------------------- */

static bool start_reading_ahead(struct trace_messages *messages)
{
    const uint32_t process = (uint32_t)(messages->process - messages->trace->processes);
    messages->ahead = trace_cursor_make(messages->trace, process, TRACE_NONE, NULL);
    messages->order = trace_channel_order_make(messages->process);
    messages->events_ahead = messages->before_gap;
    messages->is_off_ahead = false;
    messages->last_function = messages->function_before = TRACE_NONE;
    return messages->ahead && messages->order;
}

static bool is_after_cancel(const struct trace_messages *messages)
{
    const struct trace_process *process = messages->process;
    return messages->function_before < process->function_count &&
           !strcmp(process->functions[messages->function_before].name, "MPI_Cancel");
}

/* Does the same as trace_channel_order_add, but with guesses. */
static void add_guessing(struct trace_messages *messages, struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_ENTER:
        messages->function_before = messages->last_function;
        messages->last_function = event->function;
        break;
    case TRACE_OFF:
        if (!messages->is_off_ahead)
            trace_channel_order_finish(messages->order);
        messages->is_off_ahead = true;
        return;
    case TRACE_ON:
        messages->is_off_ahead = false;
        return;
    case TRACE_REQUEST_FREED:
        if (is_after_cancel(messages))
            event->kind = TRACE_REQUEST_CANCELLED;
        break;
    default:
        break;
    }
    trace_channel_order_add(messages->order, event);
}

/* Reads an event ahead. Returns false if there are no more events before the gap. */
static bool read_ahead(struct trace_messages *messages)
{
    struct trace_event event;
    if (!messages->events_ahead || !trace_cursor_next(messages->ahead, &event, NULL))
        return false;
    messages->events_ahead--;
    if (messages->guesses)
        add_guessing(messages, &event);
    else
        trace_channel_order_add(messages->order, &event);
    return true;
}

/* Returns by how many places a receive is later in its channel than in the order of completion.
 * `completion` is its position in the order of completion. */
static int64_t find_later(struct trace_messages *messages, uint64_t completion)
{
    int64_t later = 0;
    if (!messages->has_postings || (!messages->order && !start_reading_ahead(messages)))
        return 0;
    while (!trace_channel_order_find(messages->order, completion, &later)) {
        if (messages->ahead && read_ahead(messages))
            continue;
        if (!messages->ahead)
            return 0;
        trace_channel_order_finish(messages->order);
        trace_cursor_free(messages->ahead);
        messages->ahead = NULL;
    }
    return later;
}

/* ---- The second reading ---------------------------------------------------------------------- */

void trace_messages_rewind(struct trace_messages *messages)
{
    qmpi_table_free(&messages->sent);
    qmpi_table_free(&messages->received);
    qmpi_table_free(&messages->collectives);
    qmpi_table_free(&messages->unsized);
    end_reading_ahead(messages);
    messages->completions = 0;
    messages->part = 0;
    messages->is_off = false;
}

/* Begins a new part of the run after recording was switched off. Numbers start again. */
static void begin_part(struct trace_messages *messages)
{
    qmpi_table_free(&messages->sent);
    qmpi_table_free(&messages->received);
    qmpi_table_free(&messages->collectives);
    messages->part++;
}

static void follow_switch(struct trace_messages *messages, const struct trace_event *event)
{
    if (event->kind == TRACE_OFF && !messages->is_off)
        begin_part(messages);
    if (event->kind == TRACE_OFF || event->kind == TRACE_ON)
        messages->is_off = event->kind == TRACE_OFF;
}

/* Returns the channel of a message in this part of the run. */
static uint64_t channel_in_part(const struct trace_messages *messages,
                                const struct trace_event *event, bool is_send)
{
    const uint64_t channel =
        trace_channel_number(messages->process, event->comm, event->peer, event->tag, is_send);
    return channel && messages->part ? qmpi_table_mix_two(channel, messages->part) : channel;
}

/* Sets `number` to the number of earlier calls of this function with the same table and key.
 * Returns false if memory is exhausted. */
static bool count_before(struct qmpi_table *table, uint64_t key, uint64_t *number)
{
    uint64_t *place = qmpi_table_put(table, key);
    if (place)
        *number = (*place)++;
    return place;
}

static uint64_t message_number(uint64_t channel, uint64_t number)
{
    return channel + number ? channel + number : 1;
}

static uint64_t next_send(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    const uint64_t channel = channel_in_part(messages, event, true);
    if (!channel ||
        (event->kind == TRACE_ISEND && qmpi_table_get(&messages->cancelled, event->request)) ||
        !count_before(&messages->sent, channel, &number))
        return 0;
    return message_number(channel, number);
}

static uint64_t next_receive(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    const uint64_t channel = channel_in_part(messages, event, false);
    if (!channel || !count_before(&messages->received, channel, &number))
        return 0;
    number += (uint64_t)find_later(messages, messages->completions++);
    return message_number(channel, number);
}

uint64_t trace_messages_guess(struct trace_messages *messages, const struct trace_event *event,
                              bool takes)
{
    uint64_t number = 0;
    const uint64_t channel =
        event->ticks < messages->gap ? channel_in_part(messages, event, false) : 0;
    const uint64_t *place = qmpi_table_get(&messages->received, channel);
    if (takes && channel)
        count_before(&messages->received, channel, &number);
    else
        number = place ? *place : 0;
    return channel ? message_number(channel, number) : 0;
}

/* Returns the number of a collective, which is the same in all processes. `count` is the number of
 * earlier collectives that this process has begun on the communicator. */
static uint64_t collective_number(const struct trace_comm *comm, uint64_t count)
{
    /* The number has about 48 bits, so that it takes few bytes in a file: 40 bits of a hash of the
     * communicator, so that two communicators rarely have the same numbers, and 8 bits for the
     * count, which may overflow into the hash. */
    enum { BITS = 40 };
    return (qmpi_table_mix(comm->id) >> (64 - BITS) << 8) + count + 1;
}

static uint64_t next_collective(struct trace_messages *messages, const struct trace_event *event)
{
    uint64_t number;
    const struct trace_process *process = messages->process;
    const struct trace_comm *comm =
        event->comm < process->comm_count ? &process->comms[event->comm] : NULL;
    if (!comm || !comm->id || !count_before(&messages->collectives, comm->id, &number))
        return 0;
    return collective_number(comm, number);
}

static bool lacks_size_of_receive(const struct trace_process *process, uint32_t function)
{
    const char *name =
        function < process->function_count ? process->functions[function].name : NULL;
    QMPIX_Traits traits;
    standard_find_traits(name, &traits);
    return traits.role == QMPIX_ROLE_SENDRECV && traits.flags & QMPIX_TRAIT_NONBLOCKING;
}

bool trace_messages_may_lack_sizes(const struct trace_process *process)
{
    for (size_t i = 0; i < process->function_count; i++) {
        if (lacks_size_of_receive(process, (uint32_t)i))
            return true;
    }
    return false;
}

static void follow_sizes(struct trace_messages *messages, const struct trace_event *event)
{
    messages->lacks_size = false;
    if (!messages->may_lack_sizes || event->location >= messages->process->location_count)
        return;
    uint32_t *function = &messages->functions[event->location];
    if (event->kind == TRACE_ENTER)
        *function = event->function;
    else if (event->kind == TRACE_IRECV_REQUEST &&
             lacks_size_of_receive(messages->process, *function))
        qmpi_table_put(&messages->unsized, event->request);
    else if (event->kind == TRACE_IRECV && qmpi_table_get(&messages->unsized, event->request)) {
        messages->lacks_size = true;
        qmpi_table_remove(&messages->unsized, event->request);
    }
}

bool trace_messages_lack_size(const struct trace_messages *messages)
{
    return messages->lacks_size;
}

uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event)
{
    follow_sizes(messages, event);
    if (messages->guesses)
        follow_switch(messages, event);
    const bool is_message = trace_messages_is_send(event) || trace_messages_is_receive(event);
    if (event->ticks >= messages->gap ||
        (is_message && trace_messages_are_omitted(messages->process)))
        return 0;
    if (trace_messages_is_send(event))
        return next_send(messages, event);
    if (trace_messages_is_receive(event))
        return next_receive(messages, event);
    if (event->kind == TRACE_COLLECTIVE_BEGIN || event->kind == TRACE_ICOLLECTIVE_REQUEST)
        return next_collective(messages, event);
    return 0;
}

bool trace_messages_failed(const struct trace_messages *messages)
{
    return messages->unsized.failed || messages->sent.failed || messages->received.failed ||
           messages->collectives.failed ||
           (messages->order && trace_channel_order_failed(messages->order));
}

uint64_t trace_messages_gap(const struct trace_messages *messages)
{
    return messages->gap;
}

bool trace_messages_are_omitted(const struct trace_process *process)
{
    return process->omits & TRACE_OMITS_MESSAGES;
}

uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm)
{
    const uint64_t *number = qmpi_table_get(&messages->collectives, comm);
    return number ? *number : 0;
}

void trace_messages_forget_channel(struct trace_messages *sender, struct trace_messages *receiver,
                                   const struct trace_event *receive)
{
    enum { FEW = 1024 }; /* number of channels */
    if (receiver->received.count < FEW)
        return;
    const uint64_t channel = channel_in_part(receiver, receive, false);
    const uint64_t *sent = qmpi_table_get(&sender->sent, channel);
    const uint64_t *received = qmpi_table_get(&receiver->received, channel);
    if (!channel || !sent || !received || *sent != *received)
        return;
    qmpi_table_remove(&sender->sent, channel);
    qmpi_table_remove(&receiver->received, channel);
}
