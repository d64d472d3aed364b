/* SPDX-License-Identifier: MIT */
/* See process.h: what a call moved, and what is noted of it when it ends. */
#define _GNU_SOURCE
#include "trace/profile/process.h"

#include <stdlib.h>
#include <string.h>

/* A call explains so much of its time by itself: see tools/profile/record/peer_waits.c. */
enum { FLOOR_NANOSECONDS = 10000, LARGE_SEND = 4096 };

/* ---- Where it is noted ----------------------------------------------------------------------- */

static uint32_t find_function(struct process_sums *sums, uint32_t function)
{
    const uint32_t key[] = {function, sums->node};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->function_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    struct function_sums *all =
        trace_grow(sums->functions, number, &sums->function_room, sizeof *all);
    sums->failed |= !all;
    if (!all)
        return TRACE_NO_NUMBER;
    sums->functions = all;
    all[number] = (struct function_sums){.function = function, .node = sums->node};
    return number;
}

static uint32_t find_site(struct process_sums *sums, uint32_t function, uint32_t site)
{
    const uint32_t key[] = {function, site};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->site_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    struct site_sums *all = trace_grow(sums->sites, number, &sums->site_room, sizeof *all);
    sums->failed |= !all;
    if (!all)
        return TRACE_NO_NUMBER;
    sums->sites = all;
    all[number] = (struct site_sums){.function = function, .site = site};
    return number;
}

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
    const bool reads = event->kind == TRACE_RMA_GET ||
                       (event->kind == TRACE_RMA_ATOMIC && sums->roles[call->function].fetches);
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

/* ---- Its end --------------------------------------------------------------------------------- */

static void add_wait(struct process_sums *sums, struct site_sums *site, int peer, uint64_t time)
{
    size_t i = 0;
    while (i < site->wait_count && site->waits[i].peer != peer)
        i++;
    if (i == site->wait_count) {
        struct site_wait *waits =
            trace_grow(site->waits, site->wait_count, &site->wait_room, sizeof *waits);
        sums->failed |= !waits;
        if (!waits)
            return;
        site->waits = waits;
        waits[site->wait_count++] = (struct site_wait){.peer = peer};
    }
    site->waits[i].calls++;
    site->waits[i].time += time;
}

/* For whom it waited: the time that its data do not explain. */
static void note_waits(struct process_sums *sums, struct site_sums *site,
                       const struct open_call *call, uint64_t time)
{
    const struct role *role = &sums->roles[call->function];
    const uint64_t bytes = role->completes ? call->completed.bytes : call->sent + call->received;
    const double ticks = 1 / sums->process->tick; /* of a nanosecond; the rounding is profile's */
    const uint64_t explained =
        (uint64_t)(FLOOR_NANOSECONDS * ticks) + (uint64_t)((double)bytes * ticks);
    if ((!role->completes && !(role->may_wait && call->has_peer)) || time <= explained)
        return;
    const uint64_t waited = time - explained;
    const size_t count = call->completed.count;
    if (!role->completes || !count)
        add_wait(sums, site, role->completes ? -1 : call->peer, waited);
    for (size_t i = 0; role->completes && i < count; i++)
        add_wait(sums, site, call->completed.peers[i], waited / count);
}

/* The time of a call that asks, and that from the last one to it, if it came at once. */
static uint64_t find_polling(const struct process_sums *sums, struct location_calls *location,
                             const struct open_call *call, uint32_t site, uint64_t now,
                             uint64_t time)
{
    const uint64_t pause = call->begin - location->polled_at;
    const double at_once = (double)time + FLOOR_NANOSECONDS / sums->process->tick / 10;
    const bool follows = location->polled == site && (double)pause < at_once;
    location->polled = site;
    location->polled_at = now;
    return follows ? time + pause : time;
}

static uint64_t count_messages(const struct role *role, const struct open_call *call)
{
    if (!role->has_transfers)
        return 0;
    if (call->messages)
        return call->messages;
    return role->starts || call->awaits || call->sent + call->received > 0;
}

/* What its operations move will be counted where the call is. */
static void fill_post(struct process_sums *sums, const struct open_call *call, uint32_t function,
                      uint32_t site)
{
    struct post *post = &sums->posts[call->post];
    post->function = function;
    post->site = site;
    post->comm = call->comm < sums->process->comm_count ? call->comm : TRACE_NONE;
    post->file = call->file < sums->process->file_count ? call->file : TRACE_NONE;
    post->bytes += call->sent + call->received;
}

void process_sums_note(struct process_sums *sums, struct location_calls *location,
                       struct open_call *call, uint64_t now, uint64_t time)
{
    const struct role *role = &sums->roles[call->function];
    const uint64_t bytes = call->sent + call->received;
    const bool is_apart = call->is_apart || !sums->has_begun;
    const uint32_t number = find_function(sums, call->function),
                   site_number = find_site(sums, call->function, call->site);
    if (number == TRACE_NO_NUMBER || site_number == TRACE_NO_NUMBER)
        return;
    struct function_sums *function = &sums->functions[number];
    struct site_sums *site = &sums->sites[site_number];
    sums_add(&function->sums, time, call->sent, call->received);
    sums_add(&site->sums, time, call->sent, call->received);
    const uint64_t nanoseconds = (uint64_t)((double)time * sums->process->tick);
    function->times[sums_bin(nanoseconds, PROFILE_TIME_BINS)]++;
    if (bytes)
        function->sizes[sums_bin(bytes, PROFILE_SIZE_BINS)]++;
    site->messages += count_messages(role, call);
    if (call->comm < sums->process->comm_count)
        sums_add(&sums->comms[call->comm], time, call->sent, call->received);
    if (call->file < sums->process->file_count)
        sums_add(&sums->files[call->file], time, call->sent, call->received);
    if (call->post != TRACE_NONE)
        fill_post(sums, call, number, site_number);
    if (role->polls) {
        const uint64_t polling = find_polling(sums, location, call, site_number, now, time);
        function->sums.polling += polling;
        site->sums.polling += polling;
    }
    if (is_apart)
        return;
    function->in_mpi += time;
    function->is_in_mpi = location->has_called = true;
    time_windows_add(&sums->mpi, now - time, now);
    if (!role->polls)
        note_waits(sums, site, call, time);
}
