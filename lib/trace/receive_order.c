/* SPDX-License-Identifier: MIT */
/* See receive_order.h. */
#include "trace/receive_order.h"

#include "trace/channel.h"
#include "trace/table.h"

#include <stdlib.h>
#include <string.h>

#define NO_COMPLETION UINT64_MAX

/* A receive that is pending. `channel` is 0 if it takes messages of several ones. */
struct posting {
    uint64_t index, channel;
    uint32_t comm;
    int peer, tag;
    struct posting *previous, *next; /* in order of `index` */
};

struct posting_list {
    struct posting *first, *last;
};

/* A receive that has completed, and the place of which is not known yet. */
struct completed {
    uint64_t index, completion, count; /* count: by completion */
};

struct channel {
    uint32_t comm;
    int peer, tag;
    uint64_t settled, completions;
    struct posting_list pending;
    struct completed *unsettled; /* by index */
    size_t unsettled_count, room;
};

struct receive_order {
    const struct trace_process *process;
    struct trace_table postings; /* by request: struct posting * */
    struct trace_table channels; /* struct channel * */
    struct posting_list wildcards;
    struct channel **waiting; /* those with something unsettled */
    size_t waiting_count, waiting_room;
    uint64_t next_index, completions;
    uint64_t *entered; /* by location: the index of the call that began last */
    struct receive_exception *exceptions;
    size_t exception_count, exception_room;
    bool failed;
};

struct receive_order *receive_order_make(const struct trace_process *process)
{
    struct receive_order *order = calloc(1, sizeof *order);
    if (!order)
        return NULL;
    order->process = process;
    order->entered = calloc(process->location_count + 1, sizeof *order->entered);
    order->failed = !order->entered;
    trace_table_start(&order->postings, sizeof(struct posting *));
    trace_table_start(&order->channels, sizeof(struct channel *));
    return order;
}

static void free_value(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(*(void **)value);
}

static void free_channel(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free((*(struct channel **)value)->unsettled);
    free(*(void **)value);
}

void receive_order_free(struct receive_order *order)
{
    if (!order)
        return;
    trace_table_each(&order->postings, free_value, NULL);
    trace_table_each(&order->channels, free_channel, NULL);
    trace_table_free(&order->postings);
    trace_table_free(&order->channels);
    free(order->waiting);
    free(order->entered);
    free(order->exceptions);
    free(order);
}

/* Makes room for one more element. */
static bool reserve(struct receive_order *order, void *array, size_t count, size_t *room,
                    size_t size)
{
    void **place = array;
    if (count < *room)
        return true;
    const size_t more = *room ? 2 * *room : 8;
    void *larger = realloc(*place, more * size);
    if (!larger) {
        order->failed = true;
        return false;
    }
    *place = larger;
    *room = more;
    return true;
}

/* ---- What is pending ------------------------------------------------------------------------- */

static void append(struct posting_list *list, struct posting *posting)
{
    posting->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = posting;
    list->last = posting;
}

static void take(struct posting_list *list, struct posting *posting)
{
    *(posting->previous ? &posting->previous->next : &list->first) = posting->next;
    *(posting->next ? &posting->next->previous : &list->last) = posting->previous;
}

static struct channel *find_channel(struct receive_order *order, uint64_t number, uint32_t comm,
                                    int peer, int tag)
{
    struct channel **place = trace_table_put(&order->channels, number);
    if (place && !*place) {
        *place = calloc(1, sizeof **place);
        if (*place)
            **place = (struct channel){.comm = comm, .peer = peer, .tag = tag};
        else
            trace_table_remove(&order->channels, number);
        place = *place ? place : NULL;
    }
    order->failed |= !place;
    return place ? *place : NULL;
}

static void post(struct receive_order *order, const struct trace_event *event)
{
    const bool is_wildcard = event->peer == TRACE_ANY || event->tag == TRACE_ANY;
    const uint64_t number =
        is_wildcard ? 0
                    : trace_channel(order->process, event->comm, event->peer, event->tag, false);
    const uint64_t index = order->next_index++;
    if (!number && !is_wildcard)
        return;
    struct posting **place = trace_table_put(&order->postings, event->request);
    struct posting *posting = place && !*place ? calloc(1, sizeof *posting) : NULL;
    struct channel *channel =
        posting && number ? find_channel(order, number, event->comm, event->peer, event->tag)
                          : NULL;
    if (!posting || (number && !channel)) {
        if (place && !*place)
            trace_table_remove(&order->postings, event->request);
        order->failed |= !place || !*place;
        free(posting);
        return;
    }
    *posting = (struct posting){.index = index,
                                .channel = number,
                                .comm = event->comm,
                                .peer = event->peer,
                                .tag = event->tag};
    *place = posting;
    append(channel ? &channel->pending : &order->wildcards, posting);
}

/* ---- What has completed ---------------------------------------------------------------------- */

static bool takes(const struct posting *posting, const struct channel *channel)
{
    return posting->comm == channel->comm &&
           (posting->peer == TRACE_ANY || posting->peer == channel->peer) &&
           (posting->tag == TRACE_ANY || posting->tag == channel->tag);
}

static bool is_settled(const struct receive_order *order, const struct channel *channel,
                       uint64_t index)
{
    if (channel->pending.first && channel->pending.first->index < index)
        return false;
    for (const struct posting *it = order->wildcards.first; it && it->index < index;
         it = it->next) {
        if (takes(it, channel))
            return false;
    }
    return true;
}

static void settle_first(struct receive_order *order, struct channel *channel)
{
    const struct completed first = channel->unsettled[0];
    const uint64_t number = channel->settled++;
    memmove(channel->unsettled, channel->unsettled + 1,
            --channel->unsettled_count * sizeof *channel->unsettled);
    if (first.completion == NO_COMPLETION || first.count == number ||
        !reserve(order, &order->exceptions, order->exception_count, &order->exception_room,
                 sizeof *order->exceptions))
        return;
    order->exceptions[order->exception_count++] =
        (struct receive_exception){first.completion, number};
}

static void settle(struct receive_order *order, struct channel *channel)
{
    while (channel->unsettled_count && is_settled(order, channel, channel->unsettled[0].index))
        settle_first(order, channel);
}

static void settle_waiting(struct receive_order *order)
{
    size_t left = 0;
    for (size_t i = 0; i < order->waiting_count; i++) {
        settle(order, order->waiting[i]);
        if (order->waiting[i]->unsettled_count)
            order->waiting[left++] = order->waiting[i];
    }
    order->waiting_count = left;
}

static void complete(struct receive_order *order, struct channel *channel, uint64_t index,
                     bool is_event)
{
    if (!reserve(order, &channel->unsettled, channel->unsettled_count, &channel->room,
                 sizeof *channel->unsettled))
        return;
    size_t at = channel->unsettled_count++;
    const bool waits = at > 0;
    for (; at > 0 && channel->unsettled[at - 1].index > index; at--)
        channel->unsettled[at] = channel->unsettled[at - 1];
    channel->unsettled[at] =
        (struct completed){index, is_event ? order->completions - 1 : NO_COMPLETION,
                           is_event ? channel->completions++ : 0};
    settle(order, channel);
    if (!waits && channel->unsettled_count &&
        reserve(order, &order->waiting, order->waiting_count, &order->waiting_room,
                sizeof *order->waiting))
        order->waiting[order->waiting_count++] = channel;
}

/* Returns whether it was pending. Sets `index`; and `channel`, to 0 if it may be several ones. */
static bool take_request(struct receive_order *order, uint64_t request, uint64_t *index,
                         uint64_t *channel)
{
    struct posting **place = trace_table_get(&order->postings, request);
    if (!place)
        return false;
    struct posting *posting = *place;
    *index = posting->index;
    *channel = posting->channel;
    struct channel **home = trace_table_get(&order->channels, posting->channel);
    take(posting->channel && home ? &(*home)->pending : &order->wildcards, posting);
    trace_table_remove(&order->postings, request);
    free(posting);
    return true;
}

static void receive(struct receive_order *order, const struct trace_event *event)
{
    uint64_t index = order->next_index, posted = 0;
    if (event->kind == TRACE_RECV && event->location < order->process->location_count)
        index = order->entered[event->location];
    else if (event->kind == TRACE_IRECV)
        take_request(order, event->request, &index, &posted);
    const uint64_t number =
        trace_channel(order->process, event->comm, event->peer, event->tag, false);
    struct channel *channel =
        number ? find_channel(order, number, event->comm, event->peer, event->tag) : NULL;
    if (channel) {
        order->completions++;
        complete(order, channel, index, true);
    }
    settle_waiting(order);
}

/* A receive the end of which is not seen: it takes a message of its channel, if that is known. */
static void lose(struct receive_order *order, uint64_t request)
{
    uint64_t index, number;
    if (!take_request(order, request, &index, &number))
        return;
    struct channel **channel = number ? trace_table_get(&order->channels, number) : NULL;
    if (channel)
        complete(order, *channel, index, false);
    settle_waiting(order);
}

struct requests {
    uint64_t *all;
    size_t count;
};

static void add_request(void *data, uint64_t key, void *value)
{
    struct requests *requests = data;
    (void)value;
    requests->all[requests->count++] = key;
}

static void lose_all(struct receive_order *order)
{
    struct requests requests = {malloc((order->postings.count + 1) * sizeof(uint64_t)), 0};
    if (!requests.all) {
        order->failed = true;
        return;
    }
    trace_table_each(&order->postings, add_request, &requests);
    for (size_t i = 0; i < requests.count; i++)
        lose(order, requests.all[i]);
    free(requests.all);
}

bool receive_order_is_pending(const struct receive_order *order, uint64_t request)
{
    return trace_table_get(&order->postings, request);
}

void receive_order_add(struct receive_order *order, const struct trace_event *event)
{
    uint64_t index, channel;
    if (order->failed)
        return;
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->location < order->process->location_count)
            order->entered[event->location] = order->next_index++;
        break;
    case TRACE_IRECV_REQUEST:
        post(order, event);
        break;
    case TRACE_RECV:
    case TRACE_IRECV:
        receive(order, event);
        break;
    case TRACE_REQUEST_FREED:
        lose(order, event->request);
        break;
    case TRACE_REQUEST_CANCELLED:
        if (take_request(order, event->request, &index, &channel))
            settle_waiting(order);
        break;
    case TRACE_OFF:
    case TRACE_DROPPED:
        lose_all(order);
        break;
    default:
        break;
    }
}

static int compare(const void *one, const void *other)
{
    const struct receive_exception *a = one, *b = other;
    return a->completion < b->completion ? -1 : a->completion > b->completion;
}

struct receive_exception *receive_order_finish(struct receive_order *order, size_t *count,
                                               bool *failed)
{
    struct receive_exception *exceptions = order->exceptions;
    lose_all(order);
    exceptions = order->exceptions;
    order->exceptions = NULL;
    if (exceptions)
        qsort(exceptions, order->exception_count, sizeof *exceptions, compare);
    *count = order->exception_count;
    *failed = order->failed || order->postings.failed || order->channels.failed;
    return exceptions;
}
