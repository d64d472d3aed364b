/* SPDX-License-Identifier: MIT */
/* See sums.h. Reads the events of a process. */
#include "tools/trace/profile/sums.h"

#include "tools/trace/file/cursor.h"
#include "tools/trace/file/map.h"
#include "util/util.h"

#include <stdlib.h>

/* A nonblocking operation that has not completed. */
struct pending_operation {
    enum pending_kind { PENDING_NONE, PENDING_POST, PENDING_SEND } kind;
    uint32_t object; /* index of the post, or rank of the peer of a send */
    uint64_t value;  /* number of bytes of a send */
};

/* ---- Application time ------------------------------------------------------------------------ */

static uint64_t application_time(const struct trace_sums *sums, uint64_t now)
{
    return sums->on_time + (sums->on_since ? now - sums->on_since : 0);
}

static void stop_clock(struct trace_sums *sums, uint64_t now)
{
    if (!sums->on_since)
        return;
    sums->on_time += now - sums->on_since;
    trace_sums_add_window(&sums->on, sums->on_since, now);
    sums->on_since = 0;
}

static void begin_application(struct trace_sums *sums, uint64_t now)
{
    if (sums->has_begun)
        return;
    sums->has_begun = true;
    sums->on_since = sums->is_on ? now : 0;
    trace_sums_begin_windows(&sums->on, now, sums->process->tick * 1e-9);
    trace_sums_begin_windows(&sums->mpi, now, sums->process->tick * 1e-9);
}

/* Moves the beginning of application time to `now` if MPI was not called since this beginning.
 * Application time does not include the time that tools use at the end of MPI_Init. */
static void begin_application_anew(struct trace_sums *sums, uint64_t now)
{
    if (sums->is_on && sums->on_since && !sums->on_time && !sums->has_called &&
        now > sums->on_since)
        sums->on_since = sums->on.start = sums->mpi.start = now;
}

static void end_application(struct trace_sums *sums, uint64_t now)
{
    stop_clock(sums, now);
    sums->has_begun = false;
}

static void switch_on(struct trace_sums *sums, bool on, uint64_t now)
{
    if (on == sums->is_on)
        return;
    stop_clock(sums, now);
    sums->is_on = on;
    if (on && sums->has_begun)
        sums->on_since = now;
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* Returns the number of a set of open regions, which is a node of a binary trie over the bits of
 * the numbers of the regions: see struct trace_sums_region_set. Sets share their nodes: a set that
 * differs from another one in one region has O(log n) nodes of its own. Equal sets have the same
 * number. */
static uint32_t node_of(struct trace_sums *sums, const struct trace_sums_region_set *wanted)
{
    return trace_map_add(&sums->nodes, wanted, sizeof *wanted, NULL);
}

static struct trace_sums_region_set node_at(const struct trace_sums *sums, uint32_t number)
{
    return *(const struct trace_sums_region_set *)sums->nodes.keys[number].data;
}

static uint32_t leaf_of(struct trace_sums *sums, uint32_t region)
{
    return node_of(sums, &(struct trace_sums_region_set){.prefix = region});
}

static uint32_t join_nodes(struct trace_sums *sums, uint32_t without, uint32_t with, uint32_t bit,
                           uint32_t prefix)
{
    if (without == TRACE_NO_NUMBER || with == TRACE_NO_NUMBER)
        return TRACE_NO_NUMBER;
    if (!without || !with) /* one set is empty */
        return without + with;
    return node_of(sums, &(struct trace_sums_region_set){without, with, bit, prefix});
}

static uint32_t bits_above(uint32_t number, uint32_t bit)
{
    return number & ~(2 * bit - 1);
}

static bool may_hold_region(const struct trace_sums_region_set *node, uint32_t region)
{
    return node->bit ? bits_above(region, node->bit) == node->prefix : region == node->prefix;
}

static uint32_t node_with(struct trace_sums *sums, uint32_t number, uint32_t region)
{
    const struct trace_sums_region_set node = node_at(sums, number);
    if (!number)
        return leaf_of(sums, region);
    if (!may_hold_region(&node, region)) {
        const uint32_t bit = UINT32_C(1) << (31 - __builtin_clz(node.prefix ^ region));
        const uint32_t leaf = leaf_of(sums, region);
        return region & bit ? join_nodes(sums, number, leaf, bit, bits_above(region, bit))
                            : join_nodes(sums, leaf, number, bit, bits_above(region, bit));
    }
    if (!node.bit)
        return number;
    return region & node.bit ? join_nodes(sums, node.without, node_with(sums, node.with, region),
                                          node.bit, node.prefix)
                             : join_nodes(sums, node_with(sums, node.without, region), node.with,
                                          node.bit, node.prefix);
}

static uint32_t node_without(struct trace_sums *sums, uint32_t number, uint32_t region)
{
    const struct trace_sums_region_set node = node_at(sums, number);
    if (!number || !may_hold_region(&node, region))
        return number;
    if (!node.bit)
        return 0;
    return region & node.bit ? join_nodes(sums, node.without, node_without(sums, node.with, region),
                                          node.bit, node.prefix)
                             : join_nodes(sums, node_without(sums, node.without, region), node.with,
                                          node.bit, node.prefix);
}

/* Sets the set of open regions. Keeps the old one if memory is exhausted, in which case
 * `nodes.failed` is set. */
static void set_node(struct trace_sums *sums, uint32_t node)
{
    sums->node = node == TRACE_NO_NUMBER ? sums->node : node;
}

static void count_region(struct trace_sums *sums, const struct trace_event *event, uint64_t now)
{
    struct trace_sums_region *region = &sums->regions[event->object];
    const uint64_t time = application_time(sums, now);
    if (event->kind == TRACE_REGION_BEGIN) {
        region->entries++;
        if (!region->open++) {
            region->since = time;
            set_node(sums, node_with(sums, sums->node, event->object));
        }
    } else if (region->open && !--region->open) {
        region->time += time - region->since;
        set_node(sums, node_without(sums, sums->node, event->object));
    }
}

/* Sends of fewer bytes complete without their receivers: see tools/profile/record/receives.h. */
enum { LARGE_SEND = 4096 };

/* ---- Operations that complete later ---------------------------------------------------------- */

static struct trace_sums_post *take_post(struct trace_sums *sums, struct trace_sums_call *call)
{
    if (call->post != TRACE_NONE)
        return &sums->posts[call->post];
    if (sums->free_post != TRACE_NONE) {
        call->post = sums->free_post;
        sums->free_post = sums->posts[call->post].next_free;
    } else {
        if (!QMPI_MEMORY_RESERVE(sums->posts, sums->post_room, sums->post_count + 1)) {
            sums->failed = true;
            return NULL;
        }
        call->post = (uint32_t)sums->post_count++;
    }
    sums->posts[call->post] = (struct trace_sums_post){TRACE_NONE, TRACE_NONE, TRACE_NONE,
                                                       TRACE_NONE, .next_free = TRACE_NONE};
    return &sums->posts[call->post];
}

static void add_pending(struct trace_sums *sums, uint64_t number, struct pending_operation request)
{
    struct pending_operation *place = qmpi_table_put(&sums->pending, number);
    sums->failed |= !place;
    if (place)
        *place = request;
}

static void add_posted_operation(struct trace_sums *sums, struct trace_sums_call *call,
                                 uint64_t number)
{
    struct trace_sums_post *post = number == TRACE_NO_REQUEST ? NULL : take_post(sums, call);
    if (!post)
        return;
    post->operations++;
    add_pending(sums, number, (struct pending_operation){PENDING_POST, call->post, 0});
}

static void add_send(struct trace_sums *sums, const struct trace_event *event, int peer)
{
    add_pending(sums, event->request,
                (struct pending_operation){PENDING_SEND, (uint32_t)peer, event->bytes});
}

/* Moves a call to another bin of the histogram of bytes, after it has moved more bytes. */
static void change_bin(struct trace_sums_function *function, uint64_t before, uint64_t now)
{
    if (before == now)
        return;
    if (before)
        function->sizes[trace_sums_bin(before, PROFILE_SIZE_BINS)]--;
    function->sizes[trace_sums_bin(now, PROFILE_SIZE_BINS)]++;
}

static void add_moved(struct trace_sums_calls *sums, uint64_t sent, uint64_t received)
{
    sums->sent += sent;
    sums->received += received;
}

/* Completes an operation of a post. The operation has moved these bytes. */
static void complete_operation(struct trace_sums *sums, uint32_t number, uint64_t sent,
                               uint64_t received)
{
    struct trace_sums_post *post = &sums->posts[number];
    const uint64_t before = post->bytes;
    post->bytes += sent + received;
    if (post->function != TRACE_NONE) {
        struct trace_sums_function *function = &sums->functions[post->function];
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

static struct pending_operation take_pending(struct trace_sums *sums, uint64_t number)
{
    const struct pending_operation *found = qmpi_table_get(&sums->pending, number);
    const struct pending_operation request =
        found ? *found : (struct pending_operation){PENDING_NONE};
    qmpi_table_remove(&sums->pending, number);
    return request;
}

static void add_completed_peer(struct trace_sums *sums, struct trace_sums_call *call, int peer,
                               uint64_t bytes)
{
    call->completed.bytes += bytes;
    if (QMPI_MEMORY_RESERVE(call->completed.peers, call->completed.room, call->completed.count + 1))
        call->completed.peers[call->completed.count++] = peer < 0 ? -1 : peer;
    else
        sums->failed = true;
}

/* ---- Events of a call ------------------------------------------------------------------------ */

static void add_pair(struct trace_sums *sums, int from, int to, uint64_t bytes)
{
    const int key[] = {from, to};
    bool is_new = false;
    if (from < 0 || to < 0)
        return;
    const uint32_t number = trace_map_add(&sums->pair_keys, key, sizeof key, &is_new);
    if (number == TRACE_NO_NUMBER)
        return;
    if (!QMPI_MEMORY_RESERVE(sums->pairs, sums->pair_room, number + 1)) {
        sums->failed = true;
        return;
    }
    if (is_new)
        sums->pairs[number] = (struct trace_sums_pair){0, 0};
    sums->pairs[number].messages++;
    sums->pairs[number].bytes += bytes;
}

static void add_message(struct trace_sums *sums, struct trace_sums_call *call,
                        const struct trace_event *event)
{
    const struct trace_sums_role *role = &sums->roles[call->function];
    const bool sends = event->kind == TRACE_SEND || event->kind == TRACE_ISEND;
    const uint64_t bytes = event->peer == TRACE_PROC_NULL ? 0 : event->bytes;
    const int peer = trace_event_world_rank(sums->process, event->comm, event->peer);
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

static void add_receive(struct trace_sums *sums, struct trace_sums_call *call,
                        const struct trace_event *event)
{
    const struct trace_sums_role *role = &sums->roles[call->function];
    if (role->has_comm)
        call->comm = event->comm;
    if (event->peer == TRACE_PROC_NULL)
        return;
    /* This is MPI_Isendrecv. Its received bytes are unknown, so the receive stays unfinished, and
     * is no message. */
    if (!role->posts && !role->starts) {
        sums->posted++;
        return;
    }
    call->awaits = true;
    call->messages += role->starts && event->bytes;
    sums->posted++;
    add_posted_operation(sums, call, event->request);
}

static void add_arrival(struct trace_sums *sums, struct trace_sums_call *call,
                        const struct trace_event *event, uint64_t bytes)
{
    const struct pending_operation request = take_pending(sums, event->request);
    if (request.kind == PENDING_SEND) {
        add_completed_peer(sums, call, (int)request.object, request.value);
    } else if (request.kind == PENDING_POST && event->kind == TRACE_ISEND_COMPLETE) {
        complete_operation(sums, request.object, 0, 0);
    } else if (request.kind == PENDING_POST) {
        complete_operation(sums, request.object, 0, bytes);
        sums->arrived++;
        if (event->kind == TRACE_IRECV && event->peer != TRACE_PROC_NULL)
            add_completed_peer(
                sums, call, trace_event_world_rank(sums->process, event->comm, event->peer), bytes);
    }
}

static void add_access(struct trace_sums *sums, struct trace_sums_call *call,
                       const struct trace_event *event)
{
    const struct trace_process *process = sums->process;
    const uint32_t comm =
        event->object < process->window_count ? process->windows[event->object].comm : TRACE_NONE;
    const int peer = comm < process->comm_count ? trace_event_world_rank(process, comm, event->peer)
                                                : TRACE_UNDEFINED;
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

static void add_file_access(struct trace_sums *sums, struct trace_sums_call *call,
                            const struct trace_event *event)
{
    if (event->kind == TRACE_IO_REQUEST) {
        call->file = event->object;
        add_posted_operation(sums, call, event->request);
    } else if (event->request != TRACE_NO_REQUEST) {
        const struct pending_operation request = take_pending(sums, event->request);
        if (request.kind == PENDING_POST)
            complete_operation(sums, request.object, event->bytes, event->received);
    } else {
        call->file = event->object;
        call->sent += event->bytes;
        call->received += event->received;
    }
}

static void add_call_event(struct trace_sums *sums, struct trace_sums_call *call,
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
        take_pending(sums, event->request); /* its bytes are not counted */
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
        add_posted_operation(sums, call, event->request);
        break;
    case TRACE_ICOLLECTIVE_COMPLETE: {
        const struct pending_operation request = take_pending(sums, event->request);
        if (request.kind == PENDING_POST)
            complete_operation(sums, request.object, event->bytes, event->received);
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

/* The part of the time of a call that does not count as waiting: see
 * tools/profile/record/waits.c. */
enum { FLOOR_NANOSECONDS = 10000 };

/* ---- Sums of functions and call sites -------------------------------------------------------- */

static uint32_t find_function_sums(struct trace_sums *sums, uint32_t function)
{
    const uint32_t key[] = {function, sums->node};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->function_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    if (!QMPI_MEMORY_RESERVE(sums->functions, sums->function_room, number + 1)) {
        sums->failed = true;
        return TRACE_NO_NUMBER;
    }
    sums->functions[number] =
        (struct trace_sums_function){.function = function, .node = sums->node};
    return number;
}

static uint32_t find_site_sums(struct trace_sums *sums, uint32_t function, uint32_t site)
{
    const uint32_t key[] = {function, site};
    bool is_new = false;
    const uint32_t number = trace_map_add(&sums->site_keys, key, sizeof key, &is_new);
    if (!is_new)
        return number;
    if (!QMPI_MEMORY_RESERVE(sums->sites, sums->site_room, number + 1)) {
        sums->failed = true;
        return TRACE_NO_NUMBER;
    }
    sums->sites[number] = (struct trace_sums_site){.function = function, .site = site};
    return number;
}

/* ---- The end of a call ----------------------------------------------------------------------- */

/* Adds a wait of the call number sums->waiting_calls. */
static void add_wait(struct trace_sums *sums, struct trace_sums_site *site, int peer, uint64_t time)
{
    const uint64_t key = (uint64_t)(site - sums->sites) << 32 | (uint32_t)peer;
    size_t *place = qmpi_table_put(&sums->wait_places, key); /* index + 1, or 0 if it is new */
    sums->failed |= !place;
    if (!place)
        return;
    if (!*place) {
        if (!QMPI_MEMORY_RESERVE(site->waits, site->wait_room, site->wait_count + 1)) {
            sums->failed = true;
            return;
        }
        site->waits[site->wait_count++] = (struct trace_sums_wait){.peer = peer};
        *place = site->wait_count;
    }
    struct trace_sums_wait *wait = &site->waits[*place - 1];
    wait->calls += wait->last_call != sums->waiting_calls;
    wait->time += time;
    wait->last_call = sums->waiting_calls;
}

/* Adds the time that a call waited for its peers, which is the part of its time that its data do
 * not explain. */
static void add_waits(struct trace_sums *sums, struct trace_sums_site *site,
                      const struct trace_sums_call *call, uint64_t time)
{
    const struct trace_sums_role *role = &sums->roles[call->function];
    const uint64_t bytes = role->completes ? call->completed.bytes : call->sent + call->received;
    const double ticks = 1 / sums->process->tick; /* ticks per nanosecond; the expressions below are
                                                     rounded as in the tool profile */
    const uint64_t explained = (uint64_t)trace_clock_whole(FLOOR_NANOSECONDS * ticks) +
                               (uint64_t)trace_clock_whole((double)bytes * ticks);
    if ((!role->completes && !(role->may_wait && call->has_peer)) || time <= explained)
        return;
    const uint64_t waited = time - explained;
    const size_t count = call->completed.count;
    sums->waiting_calls++;
    if (!role->completes || !count)
        add_wait(sums, site, role->completes ? -1 : call->peer, waited);
    for (size_t i = 0; role->completes && i < count; i++)
        add_wait(sums, site, call->completed.peers[i], waited / count);
}

/* Returns the polling time of a polling call: the time of the call, plus the pause before it if it
 * follows another polling call from the same site at once. */
static uint64_t find_polling(const struct trace_sums *sums, struct trace_sums_thread *location,
                             const struct trace_sums_call *call, uint32_t site, uint64_t now,
                             uint64_t time)
{
    const uint64_t pause = call->begin - location->polled_at;
    const double at_once = (double)time + FLOOR_NANOSECONDS / sums->process->tick / 10;
    const bool follows = location->polled == site && (double)pause < at_once;
    location->polled = site;
    location->polled_at = now;
    return follows ? time + pause : time;
}

static uint64_t count_messages(const struct trace_sums_role *role,
                               const struct trace_sums_call *call)
{
    if (!role->has_transfers)
        return 0;
    if (call->messages)
        return call->messages;
    return role->starts || call->awaits || call->sent + call->received > 0;
}

/* Prepares the post of a call for operations that complete later, whose bytes are added to the sums
 * of this call. */
static void fill_post(struct trace_sums *sums, const struct trace_sums_call *call,
                      uint32_t function, uint32_t site)
{
    struct trace_sums_post *post = &sums->posts[call->post];
    post->function = function;
    post->site = site;
    post->comm = call->comm < sums->process->comm_count ? call->comm : TRACE_NONE;
    post->file = call->file < sums->process->file_count ? call->file : TRACE_NONE;
    post->bytes += call->sent + call->received;
}

static void sum_up_call(struct trace_sums *sums, struct trace_sums_thread *location,
                        struct trace_sums_call *call, uint64_t now, uint64_t time)
{
    const struct trace_sums_role *role = &sums->roles[call->function];
    const uint64_t bytes = call->sent + call->received;
    const bool is_apart = call->is_apart || !sums->has_begun;
    const uint32_t number = find_function_sums(sums, call->function),
                   site_number = find_site_sums(sums, call->function, call->site);
    if (number == TRACE_NO_NUMBER || site_number == TRACE_NO_NUMBER)
        return;
    struct trace_sums_function *function = &sums->functions[number];
    struct trace_sums_site *site = &sums->sites[site_number];
    trace_sums_add(&function->sums, time, call->sent, call->received);
    trace_sums_add(&site->sums, time, call->sent, call->received);
    const uint64_t nanoseconds = (uint64_t)trace_clock_whole((double)time * sums->process->tick);
    function->times[trace_sums_bin(nanoseconds, PROFILE_TIME_BINS)]++;
    if (bytes)
        function->sizes[trace_sums_bin(bytes, PROFILE_SIZE_BINS)]++;
    site->messages += count_messages(role, call);
    if (call->comm < sums->process->comm_count)
        trace_sums_add(&sums->comms[call->comm], time, call->sent, call->received);
    if (call->file < sums->process->file_count)
        trace_sums_add(&sums->files[call->file], time, call->sent, call->received);
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
    const uint32_t caller[] = {(uint32_t)(location - sums->locations), sums->node};
    trace_map_add(&sums->callers, caller, sizeof caller, NULL);
    trace_sums_add_window(&sums->mpi, now - time, now);
    if (!role->polls)
        add_waits(sums, site, call, time);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Stores a change of regions. It takes effect when its MPI_Pcontrol ends, because this call is
 * outside of the region. */
static void postpone_change(struct trace_sums *sums, struct trace_sums_thread *location,
                            const struct trace_event *event)
{
    if (event->object >= sums->process->region_count)
        return;
    if (!QMPI_MEMORY_RESERVE(location->changes, location->change_room,
                             location->change_count + 1)) {
        sums->failed = true;
        return;
    }
    location->changes[location->change_count++] = *event;
}

/* If a call is MPI_Finalize, MPI_Abort, or the last MPI_Session_finalize of a process without
 * MPI_Init, counts the call with a time of 0, and ends application time except for MPI_Abort. Calls
 * that the program makes within MPI_Finalize are counted, but not in application time. */
static void end_profile(struct trace_sums *sums, struct trace_sums_thread *location,
                        struct trace_sums_call *call, uint64_t now)
{
    const struct trace_sums_role *role = &sums->roles[call->function];
    const bool is_last = role->ends_session && sums->sessions && !--sums->sessions;
    if (!role->ends_mpi && !role->aborts && !(is_last && !sums->has_world))
        return;
    sum_up_call(sums, location, call, now, 0);
    call->is_noted = true;
    if (role->ends_mpi || is_last)
        end_application(sums, now);
}

static void push_call(struct trace_sums *sums, struct trace_sums_thread *location,
                      const struct trace_event *event)
{
    if (!QMPI_MEMORY_RESERVE(location->all, location->room, location->depth + 1)) {
        sums->failed = true;
        return;
    }
    sums->has_called |= sums->has_begun;
    struct trace_sums_call *call = &location->all[location->depth];
    *call = (struct trace_sums_call){
        .function = event->function,
        .site = event->site,
        .comm = event->comm,
        .file = TRACE_NONE,
        .begin = event->ticks,
        .is_apart = location->depth > 0,
        .post = TRACE_NONE,
        .peer = -1,
        .completed = {.room = call->completed.room, .peers = call->completed.peers}};
    location->depth++;
    end_profile(sums, location, call, event->ticks);
}

static void pop_call(struct trace_sums *sums, struct trace_sums_thread *location,
                     const struct trace_event *event)
{
    struct trace_sums_call *call = &location->all[--location->depth];
    const struct trace_sums_role *role = &sums->roles[call->function];
    if (event->kind == TRACE_LEAVE && !call->is_noted)
        sum_up_call(sums, location, call, event->ticks, event->ticks - call->begin);
    if (role->ends_mpi && event->kind == TRACE_LEAVE) {
        sums->is_over = true;
    } else if (role->begins_mpi) {
        sums->has_world = true;
        begin_application(sums, event->ticks);
    } else if (role->begins_session) {
        sums->sessions++;
        begin_application(sums, event->ticks);
    }
    for (size_t i = 0; i < location->change_count; i++)
        count_region(sums, &location->changes[i], event->ticks);
    location->change_count = 0;
}

static void sum_up_event(struct trace_sums *sums, const struct trace_event *event)
{
    struct trace_sums_thread *location = &sums->locations[event->location];
    struct trace_sums_call *call = location->depth ? &location->all[location->depth - 1] : NULL;
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->function < sums->process->function_count)
            push_call(sums, location, event);
        break;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        if (call)
            pop_call(sums, location, event);
        break;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        postpone_change(sums, location, event);
        break;
    case TRACE_FLUSH:
        begin_application_anew(sums, event->ticks + event->bytes);
        break;
    case TRACE_OFF:
    case TRACE_ON:
        switch_on(sums, event->kind == TRACE_ON, event->ticks);
        break;
    default:
        if (call)
            add_call_event(sums, call, event);
        break;
    }
}

/* Ends the process at `end`: counts the calls that did not return, which last until then, and ends
 * application time and regions. */
static void end_calls(struct trace_sums *sums, uint64_t end)
{
    for (size_t i = 0; i < sums->location_count && !sums->is_over; i++) {
        struct trace_sums_thread *location = &sums->locations[i];
        for (size_t k = 0; k < location->depth; k++) {
            struct trace_sums_call *call = &location->all[k];
            if (!call->is_noted)
                sum_up_call(sums, location, call, end, end > call->begin ? end - call->begin : 0);
        }
    }
    stop_clock(sums, end);
    for (size_t i = 0; i < sums->process->region_count; i++) {
        if (sums->regions[i].open)
            sums->regions[i].time += sums->on_time - sums->regions[i].since;
    }
}

static bool prepare_sums(struct trace_sums *sums)
{
    const struct trace_process *process = sums->process;
    sums->location_count = process->location_count ? process->location_count : 1;
    sums->roles = calloc(process->function_count + 1, sizeof *sums->roles);
    sums->comms = calloc(process->comm_count + 1, sizeof *sums->comms);
    sums->files = calloc(process->file_count + 1, sizeof *sums->files);
    sums->opens = calloc(process->file_count + 1, sizeof *sums->opens);
    sums->regions = calloc(process->region_count + 1, sizeof *sums->regions);
    sums->locations = calloc(sums->location_count, sizeof *sums->locations);
    if (!sums->roles || !sums->comms || !sums->files || !sums->opens || !sums->regions ||
        !sums->locations)
        return false;
    for (size_t i = 0; i < process->function_count; i++)
        sums->roles[i] = trace_sums_find_role(&process->functions[i]);
    for (size_t i = 0; i < sums->location_count; i++)
        sums->locations[i].polled = TRACE_NONE;
    /* The first node is the empty set. */
    return node_of(sums, &(struct trace_sums_region_set){.prefix = UINT32_MAX}) == 0;
}

bool trace_sums_read(struct trace_sums *sums, const struct trace *trace, uint32_t process)
{
    *sums = (struct trace_sums){.trace = trace,
                                .process = &trace->processes[process],
                                .free_post = TRACE_NONE,
                                .is_on = true};
    qmpi_table_start(&sums->pending, sizeof(struct pending_operation));
    qmpi_table_start(&sums->wait_places, sizeof(size_t));
    if (!prepare_sums(sums))
        return false;
    struct trace_cursor *cursor = trace_cursor_make(trace, process, TRACE_NONE, NULL);
    struct trace_event event;
    while (cursor && !sums->failed && !sums->is_over && trace_cursor_next(cursor, &event, NULL)) {
        if (event.location < sums->location_count)
            sum_up_event(sums, &event);
    }
    sums->failed |= !cursor;
    if (cursor)
        trace_cursor_free(cursor);
    end_calls(sums, sums->process->end_ticks);
    return !sums->failed && !sums->function_keys.failed && !sums->site_keys.failed &&
           !sums->pair_keys.failed && !sums->nodes.failed && !sums->callers.failed;
}

void trace_sums_free(struct trace_sums *sums)
{
    for (size_t i = 0; sums->sites && i < sums->site_keys.count; i++)
        free(sums->sites[i].waits);
    for (size_t i = 0; sums->locations && i < sums->location_count; i++) {
        for (size_t k = 0; k < sums->locations[i].room; k++)
            free(sums->locations[i].all[k].completed.peers);
        free(sums->locations[i].all);
        free(sums->locations[i].changes);
    }
    trace_map_clear(&sums->function_keys);
    trace_map_clear(&sums->site_keys);
    trace_map_clear(&sums->pair_keys);
    trace_map_clear(&sums->nodes);
    trace_map_clear(&sums->callers);
    qmpi_table_free(&sums->pending);
    qmpi_table_free(&sums->wait_places);
    void *arrays[] = {sums->roles, sums->functions, sums->sites,   sums->pairs, sums->comms,
                      sums->files, sums->opens,     sums->regions, sums->posts, sums->locations};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}
