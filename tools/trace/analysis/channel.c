/* SPDX-License-Identifier: MIT */
/* See channel.h. */
#include "tools/trace/analysis/channel.h"

#include "tools/trace/file/heap.h"
#include "util/util.h"

#include <stdlib.h>

/* ---- Channels -------------------------------------------------------------------------------- */

static const struct trace_comm *find_known_comm(const struct trace_process *process, uint32_t comm)
{
    return comm < process->comm_count && process->comms[comm].id ? &process->comms[comm] : NULL;
}

static int find_own_rank(const struct trace_process *process, const struct trace_comm *comm)
{
    if (comm->rank >= 0)
        return comm->rank;
    for (int i = 0; process->rank >= 0 && comm->group && i < comm->size; i++) {
        if (comm->group[i] == process->rank)
            return i;
    }
    return TRACE_UNDEFINED;
}

static int find_world_rank(const int *group, int size, int rank)
{
    return group && rank >= 0 && rank < size ? group[rank] : TRACE_UNDEFINED;
}

/* Combines the ranks of both ends into one number. In an intercommunicator, both groups have the
 * same rank numbers. The ends are then distinguished by the ranks in MPI_COMM_WORLD, or else by the
 * sizes of the groups. */
static uint64_t mix_ends(const struct trace_comm *comm, int me, int peer, bool is_send)
{
    uint64_t mine = (uint64_t)me, other = (uint64_t)peer;
    if (comm->remote) {
        const int my_world = find_world_rank(comm->group, comm->size, me);
        const int other_world = find_world_rank(comm->remote, comm->remote_size, peer);
        if (my_world >= 0 && other_world >= 0) {
            mine = (uint64_t)my_world;
            other = (uint64_t)other_world;
        } else {
            mine |= (uint64_t)comm->size << 32;
            other |= (uint64_t)comm->remote_size << 32;
        }
    }
    return is_send ? qmpi_table_mix_two(mine, other) : qmpi_table_mix_two(other, mine);
}

uint64_t trace_channel_number(const struct trace_process *process, uint32_t comm, int peer, int tag,
                              bool is_send)
{
    const struct trace_comm *it = find_known_comm(process, comm);
    const int me = it && peer >= 0 ? find_own_rank(process, it) : TRACE_UNDEFINED;
    if (me < 0)
        return 0;
    const uint64_t rest = qmpi_table_mix_two((uint32_t)tag, mix_ends(it, me, peer, is_send));
    const uint64_t channel = qmpi_table_mix_two(it->id, rest);
    return channel ? channel : 1;
}

/* ---- The order of receives ------------------------------------------------------------------- */

#define NO_COMPLETION UINT64_MAX
#define NOT_SETTLED INT64_MIN

enum { FEW_CHANNELS = 1024 }; /* if there are fewer channels, idle channels are kept */

/* A pending receive. `index` is its position in the order in which receives are posted. `channel`
 * is 0 if the receive may take messages of several channels. */
struct posting {
    uint64_t index, channel;
    struct posting_list *list;
    struct posting *previous, *next; /* the neighbors in its list, which is ordered by `index` */
};

/* An element of one of two heaps. In `unsettled` of a channel: a receive that has completed, but
 * whose place in the channel is not known yet. In `waiting` of a list: a channel that waits for
 * postings of this list, with the index of its first unsettled receive. */
struct unsettled {
    uint64_t index;
    struct channel *channel;    /* used only in `waiting` */
    uint64_t completion, count; /* only in `unsettled`: the numbers of earlier completions in the
                                   process and in the channel */
};

/* Pending receives that may take messages of the same channels. */
struct posting_list {
    struct posting *first, *last;
    /* Its elements (struct unsettled) are the channels that wait, or have waited, for a posting in
     * this list, because their first unsettled receive was posted later. */
    struct trace_heap waiting;
};

struct channel {
    uint32_t comm;
    int peer, tag;
    uint64_t settled;     /* number of receives whose place is known */
    uint64_t completions; /* number of completed receives */
    struct posting_list pending;
    const struct posting_list *awaited; /* the list for which the channel waits, or NULL */
    uint64_t awaiting;                  /* index of the receive whose place is awaited */
    size_t references; /* number of elements of `waiting` in all lists that refer to the channel */
    struct trace_heap unsettled; /* elements are struct unsettled */
};

struct trace_channel_order {
    const struct trace_process *process;
    struct qmpi_table postings;  /* request -> struct posting * */
    struct qmpi_table channels;  /* values are struct channel * */
    struct qmpi_table wildcards; /* communicator, peer and tag -> struct posting_list * */
    size_t crowded; /* the number of channels and lists at which idle ones are forgotten */
    uint64_t next_index, completions;
    /* For each completion that was not asked for yet, this is the result `later` of
     * trace_channel_order_find, or NOT_SETTLED. It is a ring buffer whose capacity is a power of
     * two. */
    int64_t *later;
    size_t room;
    uint64_t asked;    /* number of completions that were asked for */
    uint64_t *entered; /* by location: the index of the call that began last */
    bool failed;
};

struct trace_channel_order *trace_channel_order_make(const struct trace_process *process)
{
    struct trace_channel_order *order = calloc(1, sizeof *order);
    if (!order)
        return NULL;
    order->process = process;
    order->crowded = FEW_CHANNELS;
    order->entered = calloc(process->location_count + 1, sizeof *order->entered);
    order->failed = !order->entered;
    qmpi_table_start(&order->postings, sizeof(struct posting *));
    qmpi_table_start(&order->channels, sizeof(struct channel *));
    qmpi_table_start(&order->wildcards, sizeof(struct posting_list *));
    return order;
}

static void free_posting(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(*(void **)value);
}

static void free_posting_list(void *data, uint64_t key, void *value)
{
    struct posting_list *list = *(struct posting_list **)value;
    (void)data;
    (void)key;
    trace_heap_free(&list->waiting);
    free(list);
}

static void free_channel(void *data, uint64_t key, void *value)
{
    struct channel *channel = *(struct channel **)value;
    (void)data;
    (void)key;
    trace_heap_free(&channel->unsettled);
    trace_heap_free(&channel->pending.waiting);
    free(channel);
}

static void free_channels(struct trace_channel_order *order)
{
    qmpi_table_each(&order->channels, free_channel, NULL);
    qmpi_table_each(&order->wildcards, free_posting_list, NULL);
    qmpi_table_free(&order->channels);
    qmpi_table_free(&order->wildcards);
}

void trace_channel_order_free(struct trace_channel_order *order)
{
    if (!order)
        return;
    qmpi_table_each(&order->postings, free_posting, NULL);
    qmpi_table_free(&order->postings);
    free_channels(order);
    free(order->later);
    free(order->entered);
    free(order);
}

bool trace_channel_order_failed(const struct trace_channel_order *order)
{
    return order->failed || order->postings.failed || order->channels.failed ||
           order->wildcards.failed;
}

/* Returns whether a receive is settled before another one. Receives of the same call are settled in
 * the order of their completions. */
static bool is_unsettled_before(const void *context, const void *one, const void *other)
{
    const struct unsettled *mine = one, *its = other;
    (void)context;
    return mine->index != its->index ? mine->index < its->index
                                     : mine->completion < its->completion;
}

static bool push_unsettled(struct trace_channel_order *order, struct trace_heap *heap,
                           struct unsettled item)
{
    const bool good = trace_heap_push(heap, &item);
    order->failed |= !good;
    return good;
}

static struct unsettled pop_unsettled(struct trace_heap *heap)
{
    const struct unsettled first = *(const struct unsettled *)trace_heap_first(heap);
    trace_heap_take(heap, 0);
    return first;
}

/* ---- Idle channels --------------------------------------------------------------------------- */

struct keys {
    uint64_t *all;
    size_t count;
};

static bool is_idle(const struct posting_list *list)
{
    return !list->first && !list->waiting.count;
}

/* Collects idle channels. A channel whose receives have all completed can be forgotten, although
 * its counts `settled` and `completions` then start at 0 again: only their difference matters, and
 * they are equal. */
static void add_idle_channel(void *data, uint64_t key, void *value)
{
    const struct channel *channel = *(struct channel **)value;
    struct keys *keys = data;
    if (is_idle(&channel->pending) && !channel->unsettled.count && !channel->references &&
        channel->settled == channel->completions)
        keys->all[keys->count++] = key;
}

static void add_idle_list(void *data, uint64_t key, void *value)
{
    struct keys *keys = data;
    if (is_idle(*(struct posting_list **)value))
        keys->all[keys->count++] = key;
}

static void forget_idle(struct trace_channel_order *order, struct qmpi_table *table,
                        void (*add)(void *data, uint64_t key, void *value),
                        void (*free_value)(void *data, uint64_t key, void *value))
{
    struct keys keys = {malloc((table->count + 1) * sizeof(uint64_t)), 0};
    order->failed |= !keys.all;
    if (!keys.all)
        return;
    qmpi_table_each(table, add, &keys);
    for (size_t i = 0; i < keys.count; i++) {
        free_value(NULL, keys.all[i], qmpi_table_get(table, keys.all[i]));
        qmpi_table_remove(table, keys.all[i]);
    }
    free(keys.all);
}

/* Forgets idle channels, because programs may use a new tag for each message. */
static void limit_channels(struct trace_channel_order *order)
{
    if (order->channels.count + order->wildcards.count < order->crowded)
        return;
    forget_idle(order, &order->channels, add_idle_channel, free_channel);
    forget_idle(order, &order->wildcards, add_idle_list, free_posting_list);
    order->crowded = FEW_CHANNELS + 2 * (order->channels.count + order->wildcards.count);
}

/* ---- Pending receives ------------------------------------------------------------------------ */

static void append_posting(struct posting_list *list, struct posting *posting)
{
    posting->list = list;
    posting->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = posting;
    list->last = posting;
}

static void take_posting(struct posting *posting)
{
    struct posting_list *list = posting->list;
    *(posting->previous ? &posting->previous->next : &list->first) = posting->next;
    *(posting->next ? &posting->next->previous : &list->last) = posting->previous;
}

static void start_list(struct posting_list *list)
{
    trace_heap_start(&list->waiting, sizeof(struct unsettled), is_unsettled_before, NULL);
}

static struct channel *find_channel(struct trace_channel_order *order, uint64_t number,
                                    uint32_t comm, int peer, int tag)
{
    struct channel **place = qmpi_table_put(&order->channels, number);
    if (place && !*place) {
        *place = calloc(1, sizeof **place);
        if (*place) {
            **place = (struct channel){.comm = comm, .peer = peer, .tag = tag};
            start_list(&(*place)->pending);
            trace_heap_start(&(*place)->unsettled, sizeof(struct unsettled), is_unsettled_before,
                             NULL);
        } else {
            qmpi_table_remove(&order->channels, number);
        }
        place = *place ? place : NULL;
    }
    order->failed |= !place;
    return place ? *place : NULL;
}

/* Returns the key of receives with these arguments, at least one of which is TRACE_ANY. */
static uint64_t wildcard_key(uint32_t comm, int peer, int tag)
{
    return qmpi_table_mix_two(comm, qmpi_table_mix_two((uint32_t)peer, (uint32_t)tag));
}

static struct posting_list *find_wildcards(struct trace_channel_order *order,
                                           const struct trace_event *event)
{
    const uint64_t key = wildcard_key(event->comm, event->peer, event->tag);
    struct posting_list **place = qmpi_table_put(&order->wildcards, key);
    if (place && !*place) {
        *place = calloc(1, sizeof **place);
        if (*place) {
            start_list(*place);
        } else {
            qmpi_table_remove(&order->wildcards, key);
            place = NULL;
        }
    }
    order->failed |= !place;
    return place ? *place : NULL;
}

static struct posting_list *find_list(struct trace_channel_order *order,
                                      const struct trace_event *event, uint64_t number)
{
    if (!number)
        return find_wildcards(order, event);
    struct channel *channel = find_channel(order, number, event->comm, event->peer, event->tag);
    return channel ? &channel->pending : NULL;
}

static void post_receive(struct trace_channel_order *order, const struct trace_event *event)
{
    const bool is_wildcard = event->peer == TRACE_ANY || event->tag == TRACE_ANY;
    const uint64_t number = is_wildcard ? 0
                                        : trace_channel_number(order->process, event->comm,
                                                               event->peer, event->tag, false);
    const uint64_t index = order->next_index++;
    if (!number && !is_wildcard)
        return;
    struct posting **place = qmpi_table_put(&order->postings, event->request);
    struct posting *posting = place && !*place ? calloc(1, sizeof *posting) : NULL;
    struct posting_list *list = posting ? find_list(order, event, number) : NULL;
    if (!list) {
        if (place && !*place)
            qmpi_table_remove(&order->postings, event->request);
        order->failed |= !place || !*place;
        free(posting);
        return;
    }
    *posting = (struct posting){.index = index, .channel = number};
    *place = posting;
    append_posting(list, posting);
}

/* ---- Completed receives ---------------------------------------------------------------------- */

/* Returns a list that contains an earlier posting which may receive from the channel. Returns NULL
 * if there is none. There will not be one later, either, because later postings have higher
 * indices. */
static struct posting_list *find_earlier(struct trace_channel_order *order, struct channel *channel,
                                         uint64_t index)
{
    const uint64_t keys[] = {wildcard_key(channel->comm, TRACE_ANY, channel->tag),
                             wildcard_key(channel->comm, channel->peer, TRACE_ANY),
                             wildcard_key(channel->comm, TRACE_ANY, TRACE_ANY)};
    if (channel->pending.first && channel->pending.first->index < index)
        return &channel->pending;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct posting_list **list = qmpi_table_get(&order->wildcards, keys[i]);
        if (list && (*list)->first && (*list)->first->index < index)
            return *list;
    }
    return NULL;
}

static int64_t *later_at(const struct trace_channel_order *order, uint64_t completion)
{
    return &order->later[completion & (order->room - 1)];
}

/* Counts a completion. Returns false if memory is exhausted. */
static bool count_completion(struct trace_channel_order *order)
{
    enum { FIRST_ROOM = 64 };
    if (order->completions - order->asked == order->room) {
        const size_t room = order->room ? 2 * order->room : FIRST_ROOM;
        int64_t *later = malloc(room * sizeof *later);
        order->failed |= !later;
        if (!later)
            return false;
        for (uint64_t i = order->asked; i < order->completions; i++)
            later[i & (room - 1)] = *later_at(order, i);
        free(order->later);
        order->later = later;
        order->room = room;
    }
    *later_at(order, order->completions++) = NOT_SETTLED;
    return true;
}

static void settle_receive(struct trace_channel_order *order, struct channel *channel,
                           const struct unsettled *receive)
{
    const uint64_t number = channel->settled++;
    if (receive->completion != NO_COMPLETION)
        *later_at(order, receive->completion) = (int64_t)(number - receive->count);
}

/* Settles the receives of a channel as far as possible. A channel waits for one list at a time.
 * Lists for which it no longer waits may still contain it. */
static void settle_channel(struct trace_channel_order *order, struct channel *channel)
{
    for (const struct unsettled *next; (next = trace_heap_first(&channel->unsettled));) {
        const uint64_t index = next->index;
        struct posting_list *list = find_earlier(order, channel, index);
        if (!list) {
            const struct unsettled first = pop_unsettled(&channel->unsettled);
            settle_receive(order, channel, &first);
            continue;
        }
        if (channel->awaited != list || channel->awaiting != index)
            channel->references +=
                push_unsettled(order, &list->waiting, (struct unsettled){index, channel, 0, 0});
        channel->awaited = list;
        channel->awaiting = index;
        return;
    }
}

/* Called when a posting of the list is no longer pending. Settles the channels that waited for this
 * posting and do not wait for the next one. */
static void settle_waiting(struct trace_channel_order *order, struct posting_list *list)
{
    for (const struct unsettled *next; (next = trace_heap_first(&list->waiting));) {
        if (list->first && list->first->index < next->index)
            return;
        const struct unsettled item = pop_unsettled(&list->waiting);
        item.channel->references--;
        if (item.channel->awaited == list && item.channel->awaiting == item.index)
            item.channel->awaited = NULL;
        settle_channel(order, item.channel);
    }
}

static void add_completed(struct trace_channel_order *order, struct channel *channel,
                          uint64_t index, bool is_event)
{
    const struct unsettled receive = {index, channel,
                                      is_event ? order->completions - 1 : NO_COMPLETION,
                                      is_event ? channel->completions++ : 0};
    if (!channel->unsettled.count && !find_earlier(order, channel, index)) {
        settle_receive(order, channel, &receive);
        return;
    }
    if (!push_unsettled(order, &channel->unsettled, receive))
        return;
    /* Unless the receive is the first one, the channel already waits because of an earlier one. */
    const struct unsettled *first = trace_heap_first(&channel->unsettled);
    if (first->index == index)
        settle_channel(order, channel);
}

bool trace_channel_order_find(struct trace_channel_order *order, uint64_t completion,
                              int64_t *later)
{
    if (completion >= order->completions || *later_at(order, completion) == NOT_SETTLED)
        return false;
    *later = *later_at(order, completion);
    order->asked = completion + 1;
    return true;
}

/* Removes a request, and returns the list in which it was pending, or NULL if it was not pending.
 * Sets `index`, and sets `channel` to the channel or to 0 if several channels are possible. */
static struct posting_list *take_request(struct trace_channel_order *order, uint64_t request,
                                         uint64_t *index, uint64_t *channel)
{
    struct posting **place = qmpi_table_get(&order->postings, request);
    if (!place)
        return NULL;
    struct posting *posting = *place;
    struct posting_list *list = posting->list;
    *index = posting->index;
    *channel = posting->channel;
    take_posting(posting);
    qmpi_table_remove(&order->postings, request);
    free(posting);
    return list;
}

static void complete_receive(struct trace_channel_order *order, const struct trace_event *event)
{
    uint64_t index = order->next_index, posted = 0;
    struct posting_list *list = NULL;
    if (event->kind == TRACE_RECV && event->location < order->process->location_count)
        index = order->entered[event->location];
    else if (event->kind == TRACE_IRECV)
        list = take_request(order, event->request, &index, &posted);
    const uint64_t number =
        trace_channel_number(order->process, event->comm, event->peer, event->tag, false);
    struct channel *channel =
        number ? find_channel(order, number, event->comm, event->peer, event->tag) : NULL;
    if (channel && count_completion(order))
        add_completed(order, channel, index, true);
    if (list)
        settle_waiting(order, list);
}

/* Handles a receive whose end is not recorded. If its channel is known, it is assumed to take a
 * message of this channel. */
static void lose_request(struct trace_channel_order *order, uint64_t request)
{
    uint64_t index, number;
    struct posting_list *list = take_request(order, request, &index, &number);
    if (!list)
        return;
    struct channel **channel = number ? qmpi_table_get(&order->channels, number) : NULL;
    if (channel)
        add_completed(order, *channel, index, false);
    settle_waiting(order, list);
}

static void add_request(void *data, uint64_t key, void *value)
{
    struct keys *requests = data;
    (void)value;
    requests->all[requests->count++] = key;
}

static void lose_all_requests(struct trace_channel_order *order)
{
    struct keys requests = {malloc((order->postings.count + 1) * sizeof(uint64_t)), 0};
    if (!requests.all) {
        order->failed = true;
        return;
    }
    qmpi_table_each(&order->postings, add_request, &requests);
    for (size_t i = 0; i < requests.count; i++)
        lose_request(order, requests.all[i]);
    free(requests.all);
}

void trace_channel_order_finish(struct trace_channel_order *order)
{
    lose_all_requests(order);
    free_channels(order);
}

void trace_channel_order_add(struct trace_channel_order *order, const struct trace_event *event)
{
    struct posting_list *list;
    uint64_t index, channel;
    if (order->failed)
        return;
    limit_channels(order);
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->location < order->process->location_count)
            order->entered[event->location] = order->next_index++;
        break;
    case TRACE_IRECV_REQUEST:
        post_receive(order, event);
        break;
    case TRACE_RECV:
    case TRACE_IRECV:
        complete_receive(order, event);
        break;
    case TRACE_REQUEST_FREED:
        lose_request(order, event->request);
        break;
    case TRACE_REQUEST_CANCELLED:
        list = take_request(order, event->request, &index, &channel);
        if (list)
            settle_waiting(order, list);
        break;
    default:
        break;
    }
}
