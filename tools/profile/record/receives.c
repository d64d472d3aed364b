/* SPDX-License-Identifier: MIT */
/*
 * See receives.h. This file maps the handles of requests to entries for receives and sends, and
 * handles the calls that complete requests.
 */
#include "tools/profile/record/receives.h"

#include "toolkit/toolkit.h"
#include "tools/profile/layer.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/traits.h"
#include "tools/profile/record/waits.h"

#include <string.h>

/* How many bytes a call that posted receives has moved so far. Each time one of its receives
 * completes, the call is moved to the bin of sizes that fits the new number of bytes. */
struct tally {
    uint64_t bytes;
    uint64_t users; /* how many of its receives have not completed */
};

struct receive {
    struct pending pending; /* the entry of its request */
    bool persistent, active;
    bool is_whole;     /* The receive is partitioned, so all of `size` comes. */
    bool lacks_status; /* MPI_Isendrecv: MPI libraries do not set the status of the receive. */
    bool is_send;      /* It is a send of `size` bytes to `peer`. */
    bool is_read;      /* It reads a file. */
    int peer;          /* of a send: the rank in MPI_COMM_WORLD; -1: unknown */
    /* As the program has passed them to the posting call. A send has no `source`. */
    int source, tag;
    uint64_t size, epoch;
    struct thread_profile *thread; /* the thread that posted it */
    struct receives_post post_call;
    uint64_t changes; /* handles_changes of communicators when it was posted */
    /* `tally` points to the tally of the posting call, which is the `first_tally` of one of its
     * receives. NULL: there is none, or that `first_tally` was still in use. Only persistent
     * receives that one call started share a tally. */
    struct tally first_tally, *tally;
};

bool receives_make(struct layer_receives *receives)
{
    receives->epoch = 0;
    return pending_make(&receives->table, sizeof(struct receive));
}

static const struct traits *traits_of(const QMPIX_Call *call)
{
    return &traits_all[call->function->number];
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Returns the receive of a request that no call holds, or NULL if there is none. */
static struct receive *find_receive(const struct layer_receives *receives, uint64_t handle)
{
    return (struct receive *)pending_find(&receives->table, handle, NULL);
}

static void end_receive(struct receive *receive)
{
    receive->active = false;
    if (receive->tally && receive->persistent)
        __atomic_fetch_sub(&receive->tally->users, 1, __ATOMIC_ACQ_REL);
    else if (receive->tally)
        __atomic_store_n(&receive->tally->users, 0, __ATOMIC_RELEASE);
    receive->tally = NULL;
}

/* Returns an entry for a new request, or NULL if memory is exhausted. If there is an entry with
 * this handle, its request has completed unseen, and the entry is reused. */
static struct receive *take_receive(struct layer_receives *receives, uint64_t handle)
{
    struct receive *receive = find_receive(receives, handle);
    if (!receive || !pending_claim(&receive->pending, handle))
        return (struct receive *)pending_take(&receives->table, handle);
    end_receive(receive);
    return receive;
}

static void publish_receive(struct receive *receive, uint64_t handle)
{
    pending_publish(&receive->pending, handle);
}

static void drop_receive(struct receive *receive)
{
    end_receive(receive);
    pending_drop(&receive->pending);
}

/* Returns the receive of a request, or NULL if there is none. A receive of an earlier epoch is
 * dropped, or becomes inactive if it is persistent. */
static struct receive *find_present_receive(const struct layer_receives *receives, uint64_t handle)
{
    struct receive *receive = find_receive(receives, handle);
    if (!receive || receive->epoch == __atomic_load_n(&receives->epoch, __ATOMIC_ACQUIRE))
        return receive;
    end_receive(receive);
    if (receive->persistent)
        return receive;
    drop_receive(receive);
    return NULL;
}

/* ---- Requests that come and go --------------------------------------------------------------- */

/* Starts the tally of a receive. Returns NULL if the tally is still used by other receives that an
 * earlier call started together with this one. If the tally has no users, only the thread that has
 * the receive can add the first one, so that no atomic exchange is needed. */
static struct tally *begin_tally(struct receive *receive, uint64_t bytes)
{
    if (__atomic_load_n(&receive->first_tally.users, __ATOMIC_ACQUIRE))
        return NULL;
    __atomic_store_n(&receive->first_tally.users, 1, __ATOMIC_RELAXED);
    receive->first_tally.bytes = bytes;
    return &receive->first_tally;
}

static void fill_receive(struct layer *layer, struct thread_profile *thread,
                         struct receive *receive, const struct receives_post *post_call)
{
    end_receive(receive);
    receive->thread = thread;
    receive->post_call = *post_call;
    receive->changes = handles_changes(&layer->comms.handles);
    receive->epoch = __atomic_load_n(&layer->receives.epoch, __ATOMIC_ACQUIRE);
    receive->active = true;
}

void receives_start(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                    const struct receives_post *post_call)
{
    const struct traits *traits = traits_of(call);
    const int count = traits->requests < 0 ? 1 : argument_int(call, traits->requests);
    struct tally *tally = NULL;
    for (int i = 0; i < count; i++) {
        struct receive *receive =
            find_present_receive(&layer->receives, argument_element_word(call, traits->request, i));
        if (!receive || !receive->persistent)
            continue;
        if (receive->is_send) {
            receive->active = true;
            continue;
        }
        fill_receive(layer, thread, receive, post_call);
        if (tally)
            __atomic_fetch_add(&tally->users, 1, __ATOMIC_ACQ_REL);
        else
            tally = begin_tally(receive, post_call->sent);
        receive->tally = tally;
        figure_add(&thread->posted, 1);
    }
}

static uint64_t request_of(const QMPIX_Call *call)
{
    return argument_element_word(call, traits_of(call)->request, 0);
}

/* Remembers which message the receive is for. */
static void set_envelope(struct receive *receive, const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    receive->source = receive->tag = RECEIVES_MATCHED;
    if (traits->receive_source >= 0) {
        receive->source = argument_int(call, traits->receive_source);
        receive->tag = argument_int(call, traits->receive_tag);
    }
}

void receives_post(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                   const struct receives_post *post_call)
{
    const uint64_t handle = request_of(call);
    const bool is_read = traits_of(call)->receives == RECEIVES_READS;
    struct receive *receive = take_receive(&layer->receives, handle);
    if (!is_read)
        figure_add(&thread->posted, 1);
    if (!receive)
        return; /* Memory is exhausted, so the receive counts as not seen to complete. */
    fill_receive(layer, thread, receive, post_call);
    receive->persistent = receive->is_whole = receive->is_send = false;
    receive->is_read = is_read;
    receive->lacks_status = traits_of(call)->sends_too;
    set_envelope(receive, call);
    receive->tally = begin_tally(receive, post_call->sent);
    publish_receive(receive, handle);
}

/* Returns the size of a partitioned receive, which its status need not tell. If there are no
 * elements, the type may have any value, so MPI is not asked for its size. */
static uint64_t find_whole_size(const QMPIX_Call *call)
{
    const struct traits *traits = traits_of(call);
    const MPI_Count count =
        argument_int(call, traits->partitions) * argument_count(call, traits->count);
    MPI_Count size = 0;
    if (count > 0)
        PMPI_Type_size_x(argument_type(call, traits->type), &size);
    return (uint64_t)(count * size);
}

void receives_add(struct layer *layer, const QMPIX_Call *call)
{
    const uint64_t handle = request_of(call);
    struct receive *receive = take_receive(&layer->receives, handle);
    if (!receive)
        return;
    receive->persistent = true;
    receive->active = receive->is_send = receive->is_read = receive->lacks_status = false;
    receive->is_whole = traits_of(call)->partitions >= 0;
    receive->size = receive->is_whole ? find_whole_size(call) : 0;
    set_envelope(receive, call);
    publish_receive(receive, handle);
}

void receives_forget(struct layer *layer, const QMPIX_Call *call)
{
    const bool is_given = argument_address(call, traits_of(call)->request) != NULL;
    struct receive *receive =
        is_given ? find_present_receive(&layer->receives, request_of(call)) : NULL;
    if (receive)
        drop_receive(receive);
}

void receives_lose(struct layer *layer)
{
    __atomic_fetch_add(&layer->receives.epoch, 1, __ATOMIC_ACQ_REL);
}

uint64_t receives_unfinished(int tool_id)
{
    uint64_t posted = 0, arrived = 0;
    for (const struct thread_profile *thread = threads_first(tool_id); thread;
         thread = thread->next) {
        arrived += __atomic_load_n(&thread->arrived, __ATOMIC_ACQUIRE);
        posted += __atomic_load_n(&thread->posted, __ATOMIC_ACQUIRE);
    }
    return posted > arrived ? posted - arrived : 0;
}

/* ---- Sends ----------------------------------------------------------------------------------- */

/* Returns the size of a persistent send. If there are no elements, the type may have any value, so
 * MPI is not asked for its size. */
static uint64_t find_send_size(const QMPIX_Call *call)
{
    const MPI_Count count = argument_count(call, MESSAGE_COUNT);
    MPI_Count size = 0;
    if (count > 0)
        PMPI_Type_size_x(argument_type(call, MESSAGE_TYPE), &size);
    return (uint64_t)(count * size);
}

/* Returns whether a send may wait for its receiver. `call` is the call of MPI_Send_init or
 * MPI_Ssend_init that prepares it. */
static bool may_send_wait_when_started(const QMPIX_Call *call)
{
    return call->function->name[sizeof "MPI_S" - 1] == 's' ||
           find_send_size(call) >= RECEIVES_LARGE_SEND;
}

void receives_post_send(struct layer *layer, const QMPIX_Call *call, uint64_t bytes)
{
    enum { REQUEST = MESSAGE_COMM + 1 };
    const int peer = argument_int(call, MESSAGE_PEER);
    const MPI_Comm comm = argument_comm(call, MESSAGE_COMM);
    const uint64_t handle = argument_element_word(call, REQUEST, 0);
    const bool persistent = traits_all[call->function->number].sends == SENDS_WHEN_STARTED;
    if (peer == MPI_PROC_NULL || (persistent && !may_send_wait_when_started(call)))
        return;
    struct receive *send = take_receive(&layer->receives, handle);
    if (!send)
        return;
    end_receive(send);
    send->is_send = true;
    send->is_read = false;
    send->persistent = persistent;
    send->active = !persistent;
    send->size = persistent ? find_send_size(call) : bytes;
    send->peer = waits_find_world_rank(comm, peer);
    send->tag = argument_int(call, MESSAGE_TAG);
    send->post_call.comm_handle = HANDLE_WORD(comm);
    send->epoch = __atomic_load_n(&layer->receives.epoch, __ATOMIC_ACQUIRE);
    publish_receive(send, handle);
}

static inline const struct pending_completion *completion_of(const QMPIX_Call *call)
{
    return &traits_all[call->function->number].completion;
}

/* ---- Before a completing call ---------------------------------------------------------------- */

void receives_hold(struct layer *layer, struct flight *flight, const QMPIX_Call *call)
{
    const struct pending_completion *completion = completion_of(call);
    const int count = completion->count < 0 ? 1 : argument_int(call, completion->count);
    const void *requests = argument_address(call, completion->requests);
    flight->held = NULL;
    for (int i = count - 1; requests && i >= 0; i--) {
        const uint64_t handle = argument_element_word(call, completion->requests, i);
        struct receive *receive = find_present_receive(&layer->receives, handle);
        if (receive && receive->active && pending_hold(&receive->pending, handle, i, flight->held))
            flight->held = receive;
    }
}

/* ---- Completed operations -------------------------------------------------------------------- */

/* The place of a status: an element of an argument of a call. */
struct status_place {
    const QMPIX_Call *call;
    int argument, element;
};

static bool is_receive_cancelled(const struct status_place *place)
{
    MPI_Status status;
    int cancelled = 0;
    if (argument_status_at(place->call, place->argument, place->element, &status))
        PMPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

/* Finds the bytes that a read of a file got. The function for receives cannot be used, because Open
 * MPI does not set whether a read was cancelled. */
static bool find_read_bytes(const struct status_place *place, uint64_t *bytes)
{
    MPI_Status status;
    MPI_Count came = 0;
    if (!argument_status_at(place->call, place->argument, place->element, &status))
        return false;
    PMPI_Get_elements_x(&status, MPI_BYTE, &came);
    *bytes = came > 0 ? (uint64_t)came : 0;
    return true;
}

/* Finds the bytes that a receive got. Returns false if there is no status, because memory was
 * exhausted. */
static bool find_received_bytes(const struct receive *receive, const struct status_place *place,
                                uint64_t *bytes)
{
    if (receive->is_read)
        return find_read_bytes(place, bytes);
    MPI_Count came = 0;
    const int result =
        QMPIX_Call_get_status_bytes(place->call, place->argument, place->element, &came);
    *bytes = (uint64_t)came;
    if (receive->is_whole)
        *bytes = is_receive_cancelled(place) ? 0 : receive->size;
    return result != MPI_ERR_ARG;
}

/* Moves the posting call, which was counted with the bytes that were known then, to another bin. */
static void change_size_bin(struct thread_function_row *row, uint64_t before, uint64_t now)
{
    uint64_t *from = before ? &row->sizes[thread_bin(before)] : NULL;
    uint64_t *to = &row->sizes[thread_bin(now)];
    if (from != to)
        figure_add(to, 1);
    if (from && from != to)
        figure_add(from, UINT64_MAX);
}

/* Returns whether the row of the communicator is still valid. The communicator may have been freed,
 * and its number may now belong to another one. */
static bool is_comm_unchanged(const struct handles *handles, const struct receive *receive)
{
    return __builtin_expect(receive->changes == handles_changes(handles), 1) ||
           handles_find(handles, receive->post_call.comm_handle) ==
               (int)receive->post_call.comm->key;
}

/* Returns the rows with the same keys in this thread's tables, because each thread writes only to
 * its own tables. */
static struct receives_post entries_of_thread(struct layer *layer, struct thread_profile *thread,
                                              const struct receives_post *post_call)
{
    const int depth = layer->options.depth;
    struct receives_post entries = *post_call;
    if (entries.site)
        entries.site = thread_site_find_same(
            thread, thread_site_key(entries.site, (size_t)depth)[0], entries.site, depth);
    if (entries.comm)
        entries.comm = table_get(&thread->comms, &entries.comm->key, 1);
    if (entries.file)
        entries.file = table_get(&thread->files, &entries.file->key, 1);
    return entries;
}

static uint64_t add_to_tally(const struct receive *receive, uint64_t bytes)
{
    if (receive->persistent)
        return __atomic_fetch_add(&receive->tally->bytes, bytes, __ATOMIC_ACQ_REL);
    const uint64_t before = receive->tally->bytes;
    receive->tally->bytes = before + bytes;
    return before;
}

static void add_received_bytes(struct layer *layer, struct thread_profile *thread,
                               const struct receive *receive, uint64_t bytes)
{
    struct receives_post other;
    const struct receives_post *entries = &receive->post_call;
    if (__builtin_expect(receive->thread != thread, 0)) {
        other = entries_of_thread(layer, thread, entries);
        entries = &other;
    }
    if (__builtin_expect(entries->site != NULL, 1)) {
        figure_add(&entries->site->stats.received, bytes);
        if (receive->tally) {
            const uint64_t before = add_to_tally(receive, bytes);
            change_size_bin(entries->site->function, before, before + bytes);
        }
    }
    if (entries->comm && is_comm_unchanged(&layer->comms.handles, receive))
        figure_add(&entries->comm->stats.received, bytes);
    if (entries->file)
        figure_add(&entries->file->stats.received, bytes);
}

/* Returns the communicator of a receive, or MPI_COMM_NULL if it may no longer exist. */
static MPI_Comm find_receive_comm(const struct layer *layer, const struct receive *receive)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (receive->post_call.comm && is_comm_unchanged(&layer->comms.handles, receive))
        memcpy(&comm, &receive->post_call.comm_handle, sizeof comm);
    return comm;
}

/* Records that a send has completed. */
static void complete_send(struct thread_profile *thread, struct receive *send)
{
    if (thread->completed.is_wanted)
        waits_add_peer(thread, send->peer, send->size);
    end_receive(send);
}

static void add_receive_wait(struct layer *layer, struct thread_profile *thread,
                             const struct receive *receive, const struct status_place *place,
                             uint64_t bytes)
{
    MPI_Status status;
    if (argument_status_at(place->call, place->argument, place->element, &status) &&
        status.MPI_SOURCE != MPI_PROC_NULL)
        waits_add_peer(thread,
                       waits_find_world_rank(find_receive_comm(layer, receive), status.MPI_SOURCE),
                       bytes);
}

/* Records that a receive or a send has completed. If `place` is NULL, the operation has failed and
 * transferred nothing. The entry is still held. */
static void complete_one(struct layer *layer, struct thread_profile *thread,
                         struct receive *receive, const struct status_place *place)
{
    if (__builtin_expect(receive->is_send, 0)) {
        complete_send(thread, receive);
        return;
    }
    if (receive->lacks_status) { /* The bytes are unknown, so the receive counts as unfinished. */
        end_receive(receive);
        return;
    }
    uint64_t bytes = 0;
    if (place && !find_received_bytes(receive, place, &bytes))
        return;
    if (bytes)
        add_received_bytes(layer, thread, receive, bytes);
    if (__builtin_expect(thread->completed.is_wanted && place && !receive->is_read, 0))
        add_receive_wait(layer, thread, receive, place, bytes);
    if (!receive->is_read)
        figure_add(&thread->arrived, 1);
    end_receive(receive);
}

/* ---- After a completing call ----------------------------------------------------------------- */

struct arrivals {
    struct layer *layer;
    struct thread_profile *thread;
    const QMPIX_Call *call;
};

static void complete_held(void *data, struct pending *pending, int argument, int element)
{
    const struct arrivals *arrivals = data;
    struct receive *receive = (struct receive *)pending;
    const struct status_place place = {arrivals->call, argument, element};
    if (receive->active)
        complete_one(arrivals->layer, arrivals->thread, receive, argument < 0 ? NULL : &place);
}

void receives_complete(struct layer *layer, struct thread_profile *thread, struct flight *flight,
                       const QMPIX_Call *call)
{
    struct arrivals arrivals = {layer, thread, call};
    struct pending *held = flight->held;
    flight->held = NULL;
    if (!held)
        return;
    pending_each_completed(call, completion_of(call), held, complete_held, &arrivals);
    for (struct pending *next; held; held = next) {
        struct receive *receive = (struct receive *)held;
        next = held->next_held;
        if (!receive->active && !receive->persistent)
            drop_receive(receive);
        else
            pending_release(held);
    }
}

/* ---- Readers --------------------------------------------------------------------------------- */

int receives_list_held(const struct flight *flight, struct receives_held *all, int room)
{
    const struct receive *receive = FLIGHT_GET(flight->held);
    int count = 0;
    /* If the list changes meanwhile, it may lead to any other entry, but never to other memory. */
    for (; receive && count < room; receive = (const struct receive *)receive->pending.next_held) {
        if (!receive->active || receive->is_read)
            continue;
        all[count++] =
            (struct receives_held){.is_send = receive->is_send,
                                   .peer = receive->is_send ? receive->peer : receive->source,
                                   .tag = receive->tag,
                                   .comm = receive->post_call.comm_handle};
    }
    return count;
}
