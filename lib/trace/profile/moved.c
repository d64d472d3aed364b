/* SPDX-License-Identifier: MIT */
/* See process.h: what a call moves, at once or when its operations complete. */
#define _GNU_SOURCE
#include "trace/profile/process.h"

/* Smaller sends complete without their receiver: see tools/profile/record/sends.h. */
enum { LARGE_SEND = 4096 };

/* ---- Operations that complete later ---------------------------------------------------------- */

static struct post *take_post(struct process_sums *sums, struct open_call *call)
{
    if (call->post != TRACE_NONE)
        return &sums->posts[call->post];
    if (sums->free_post != TRACE_NONE) {
        call->post = sums->free_post;
        sums->free_post = sums->posts[call->post].next_free;
    } else {
        struct post *posts =
            trace_grow(sums->posts, sums->post_count, &sums->post_room, sizeof *posts);
        sums->failed |= !posts;
        if (!posts)
            return NULL;
        sums->posts = posts;
        call->post = (uint32_t)sums->post_count++;
    }
    sums->posts[call->post] =
        (struct post){TRACE_NONE, TRACE_NONE, TRACE_NONE, TRACE_NONE, .next_free = TRACE_NONE};
    return &sums->posts[call->post];
}

static void add_operation(struct process_sums *sums, struct open_call *call, uint64_t number)
{
    struct post *post = number == TRACE_NO_REQUEST ? NULL : take_post(sums, call);
    const struct trace_request request = {number, PENDING_POST, call->post, 0};
    if (!post)
        return;
    post->operations++;
    sums->failed |= !trace_pending_add(&sums->pending, &request);
}

static void add_send(struct process_sums *sums, const struct trace_event *event, int peer)
{
    const struct trace_request request = {event->request, PENDING_SEND, (uint32_t)peer,
                                          event->bytes};
    sums->failed |= !trace_pending_add(&sums->pending, &request);
}

/* Calls are in the bin of what they have moved. */
static void change_bin(struct function_sums *function, uint64_t before, uint64_t now)
{
    if (before == now)
        return;
    if (before)
        function->sizes[sums_bin(before, PROFILE_SIZE_BINS)]--;
    function->sizes[sums_bin(now, PROFILE_SIZE_BINS)]++;
}

static void add_moved(struct sums *sums, uint64_t sent, uint64_t received)
{
    sums->sent += sent;
    sums->received += received;
}

/* An operation has completed, and has moved that. */
static void complete(struct process_sums *sums, uint32_t number, uint64_t sent, uint64_t received)
{
    struct post *post = &sums->posts[number];
    const uint64_t before = post->bytes;
    post->bytes += sent + received;
    if (post->function != TRACE_NONE) {
        struct function_sums *function = &sums->functions[post->function];
        add_moved(&function->sums, sent, received);
        change_bin(function, before, post->bytes);
    }
    if (post->site != TRACE_NONE)
        add_moved(&sums->sites[post->site].sums, sent, received);
    if (post->comm != TRACE_NONE)
        add_moved(&sums->comms[post->comm], sent, received);
    if (post->file != TRACE_NONE)
        add_moved(&sums->files[post->file], sent, received);
    if (!--post->operations) {
        post->next_free = sums->free_post;
        sums->free_post = number;
    }
}

static struct trace_request take_request(struct process_sums *sums, uint64_t number)
{
    struct trace_request *found = trace_pending_find(&sums->pending, number);
    struct trace_request request = {.kind = TRACE_REQUEST_FREE};
    if (found) {
        request = *found;
        trace_pending_remove(&sums->pending, found);
    }
    return request;
}

static void add_completed(struct open_call *call, int peer, uint64_t bytes)
{
    call->completed.bytes += bytes;
    if (call->completed.count < COMPLETED_MAX)
        call->completed.peers[call->completed.count++] = peer < 0 ? -1 : peer;
}

/* ---- What a call does ------------------------------------------------------------------------ */

static void add_pair(struct process_sums *sums, int from, int to, uint64_t bytes)
{
    const int key[] = {from, to};
    bool is_new = false;
    if (from < 0 || to < 0)
        return;
    const uint32_t number = trace_map_add(&sums->pair_keys, key, sizeof key, &is_new);
    if (number == TRACE_NO_NUMBER)
        return;
    struct pair_sums *all = trace_grow(sums->pairs, number, &sums->pair_room, sizeof *all);
    sums->failed |= !all;
    if (!all)
        return;
    sums->pairs = all;
    if (is_new)
        all[number] = (struct pair_sums){0, 0};
    all[number].messages++;
    all[number].bytes += bytes;
}

static void add_message(struct process_sums *sums, struct open_call *call,
                        const struct trace_event *event)
{
    const struct role *role = &sums->roles[call->function];
    const bool sends = event->kind == TRACE_SEND || event->kind == TRACE_ISEND;
    const uint64_t bytes = event->peer == TRACE_PROC_NULL ? 0 : event->bytes;
    const int peer = trace_world_rank(sums->process, event->comm, event->peer);
    if (role->has_comm)
        call->comm = event->comm;
    call->messages += bytes > 0;
    *(sends ? &call->sent : &call->received) += bytes;
    if (sends)
        add_pair(sums, sums->process->rank, peer, bytes);
    if (event->peer != TRACE_PROC_NULL && (!call->has_peer || !sends)) {
        call->has_peer = true;
        call->peer = peer < 0 ? -1 : peer;
    }
    if (event->kind == TRACE_ISEND && (bytes >= LARGE_SEND || role->sends_synchronously))
        add_send(sums, event, peer);
}

static void add_receive(struct process_sums *sums, struct open_call *call,
                        const struct trace_event *event)
{
    const struct role *role = &sums->roles[call->function];
    if (role->has_comm)
        call->comm = event->comm;
    if (event->peer == TRACE_PROC_NULL)
        return;
    if (!role->posts && !role->starts) { /* MPI_Isendrecv: the room counts, not what came */
        call->received += event->bytes;
        call->messages += event->bytes > 0;
        return;
    }
    call->awaits = true;
    call->messages += role->starts && event->bytes;
    sums->posted++;
    add_operation(sums, call, event->request);
}

static void add_arrival(struct process_sums *sums, struct open_call *call,
                        const struct trace_event *event, uint64_t bytes)
{
    const struct trace_request request = take_request(sums, event->request);
    if (request.kind == PENDING_SEND) {
        add_completed(call, (int)request.object, request.value);
    } else if (request.kind == PENDING_POST && event->kind == TRACE_ISEND_COMPLETE) {
        complete(sums, request.object, 0, 0);
    } else if (request.kind == PENDING_POST) {
        complete(sums, request.object, 0, bytes);
        sums->arrived++;
        if (event->kind == TRACE_IRECV && event->peer != TRACE_PROC_NULL)
            add_completed(call, trace_world_rank(sums->process, event->comm, event->peer), bytes);
    }
}

static void add_access(struct process_sums *sums, struct open_call *call,
                       const struct trace_event *event)
{
    const struct trace_process *process = sums->process;
    const uint32_t comm =
        event->object < process->window_count ? process->windows[event->object].comm : TRACE_NONE;
    const int peer =
        comm < process->comm_count ? trace_world_rank(process, comm, event->peer) : TRACE_UNDEFINED;
    const bool reads = event->kind == TRACE_RMA_GET || sums->roles[call->function].fetches;
    if (event->peer == TRACE_PROC_NULL)
        return;
    call->sent += event->bytes;
    call->received += event->received;
    call->messages += (event->bytes > 0) + (event->received > 0);
    if (event->kind != TRACE_RMA_GET)
        add_pair(sums, process->rank, peer, event->bytes);
    if (reads)
        add_pair(sums, peer, process->rank, event->received);
}

static void add_file_access(struct process_sums *sums, struct open_call *call,
                            const struct trace_event *event)
{
    if (event->kind == TRACE_IO_REQUEST) {
        call->file = event->object;
        add_operation(sums, call, event->request);
    } else if (event->request != TRACE_NO_REQUEST) {
        const struct trace_request request = take_request(sums, event->request);
        if (request.kind == PENDING_POST)
            complete(sums, request.object, event->bytes, event->received);
    } else {
        call->file = event->object;
        call->sent += event->bytes;
        call->received += event->received;
    }
}

void process_sums_add(struct process_sums *sums, struct open_call *call,
                      const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_SEND:
    case TRACE_RECV:
    case TRACE_ISEND:
        add_message(sums, call, event);
        break;
    case TRACE_IRECV_REQUEST:
        add_receive(sums, call, event);
        break;
    case TRACE_ISEND_COMPLETE:
    case TRACE_REQUEST_CANCELLED:
        add_arrival(sums, call, event, 0);
        break;
    case TRACE_IRECV:
        add_arrival(sums, call, event, event->bytes);
        break;
    case TRACE_REQUEST_FREED:
        take_request(sums, event->request); /* what it moves is nowhere */
        break;
    case TRACE_COLLECTIVE_BEGIN:
        call->comm = event->comm;
        break;
    case TRACE_CALL_OBJECT:
        call->comm = event->comm;
        call->file = event->object;
        break;
    case TRACE_COLLECTIVE_END:
        call->comm = event->comm;
        call->sent += event->bytes;
        call->received += event->received;
        break;
    case TRACE_ICOLLECTIVE_REQUEST:
        call->comm = event->comm;
        add_operation(sums, call, event->request);
        break;
    case TRACE_ICOLLECTIVE_COMPLETE: {
        const struct trace_request request = take_request(sums, event->request);
        if (request.kind == PENDING_POST)
            complete(sums, request.object, event->bytes, event->received);
        break;
    }
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        add_access(sums, call, event);
        break;
    case TRACE_IO_REQUEST:
    case TRACE_IO:
        add_file_access(sums, call, event);
        break;
    case TRACE_COMM_DESTROY:
        if (sums->roles[call->function].frees_comm)
            call->comm = event->comm;
        break;
    case TRACE_FILE_OPEN:
        if (event->object < sums->process->file_count)
            sums->opens[event->object]++;
        call->file = event->object;
        break;
    case TRACE_FILE_CLOSE:
        call->file = event->object;
        break;
    default:
        break;
    }
}
