/* SPDX-License-Identifier: MIT */
/* See path.h. This file computes the clocks of the threads of all processes. path_order.c
 * determines the order in which their events are read. */
#define _GNU_SOURCE
#include "tools/trace/profile/path.h"

#include "standard/standard.h"
#include "tools/trace/analysis/messages.h"
#include "tools/trace/file/cursor.h"
#include "tools/trace/profile/path_order.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* ---- Functions ------------------------------------------------------------------------------- */

/* The effect of a call on the clocks. For collectives, this tells on which other members a member
 * depends. */
enum path_role {
    PATH_NOTHING,
    PATH_ALL,       /* all members */
    PATH_FROM_ROOT, /* all other members depend on the root */
    PATH_TO_ROOT,   /* the root depends on all members */
    PATH_PREFIX,    /* each member depends on those with lower ranks */
    PATH_OBJECT,    /* all members of the communicator of the object that the call creates */
    PATH_CREATES,   /* all members of the communicator that the call creates */
    PATH_COPIES,    /* all members, when the copy of the communicator is complete */
    PATH_FENCE,     /* all members of the communicator of the window */
    PATH_FREES_WINDOW,
    PATH_BEGINS_MPI,
    PATH_ENDS_MPI,
    PATH_BEGINS_SESSION,
    PATH_ENDS_SESSION
};

static enum path_role find_collective_role(QMPIX_Flow flow)
{
    switch (flow) {
    case QMPIX_FLOW_ALL:
    case QMPIX_FLOW_NEIGHBORS: /* a trace does not contain the topology */
        return PATH_ALL;
    case QMPIX_FLOW_FROM_ROOT:
        return PATH_FROM_ROOT;
    case QMPIX_FLOW_TO_ROOT:
        return PATH_TO_ROOT;
    case QMPIX_FLOW_SCAN:
    case QMPIX_FLOW_EXSCAN:
        return PATH_PREFIX;
    default:
        return PATH_NOTHING;
    }
}

static enum path_role find_role(const char *function)
{
    QMPIX_Traits traits = {.size = sizeof traits};
    standard_find_traits(function, &traits);
    switch (traits.role) {
    case QMPIX_ROLE_INIT:
        return PATH_BEGINS_MPI;
    case QMPIX_ROLE_FINALIZE:
        return PATH_ENDS_MPI;
    case QMPIX_ROLE_SESSION_INIT:
        return PATH_BEGINS_SESSION;
    case QMPIX_ROLE_SESSION_FINALIZE:
        return PATH_ENDS_SESSION;
    case QMPIX_ROLE_COLLECTIVE:
        return find_collective_role(traits.flow);
    case QMPIX_ROLE_COMM_CREATE:
        if (traits.flow == QMPIX_FLOW_NONE)
            return PATH_CREATES;
        return traits.flags & QMPIX_TRAIT_NONBLOCKING ? PATH_COPIES : PATH_OBJECT;
    case QMPIX_ROLE_WIN_CREATE:
    case QMPIX_ROLE_FILE_OPEN:
        return PATH_OBJECT;
    case QMPIX_ROLE_WIN_FENCE:
        return PATH_FENCE;
    case QMPIX_ROLE_WIN_FREE:
        return PATH_FREES_WINDOW;
    default:
        return PATH_NOTHING;
    }
}

/* ---- State ----------------------------------------------------------------------------------- */

/* A collective that a process has begun. */
struct path_part {
    uint64_t number; /* number of the collective, or 0 */
    uint32_t comm;   /* index of the communicator in the process */
    int root;
};

/* A collective in progress. An intercommunicator has two sides. Clocks are in nanoseconds. */
struct path_collective {
    int begun[2], size[2];
    double latest[2];
    double root;
    bool has_root;
    int ended;
    /* For PATH_PREFIX, `ranks` contains the clocks of the members, which are negative before they
     * begin. For the first `prefix` members, it contains the maximum of their clocks and those of
     * all lower ranks. */
    int prefix;
    double *ranks;
};

struct path_call {
    uint32_t function;
    struct path_part part;
};

struct path_thread {
    double clock;
    uint64_t since; /* the ticks when the thread left MPI */
    bool has_called;
    struct path_call *calls; /* calls in progress */
    size_t depth, room;
};

struct path_region {
    uint64_t open; /* number of times that it has begun and not ended */
    double since;  /* the largest clock of the process when the region began */
    double path;   /* the result */
};

struct path_process {
    const struct trace_process *process;
    struct trace_cursor *cursor;
    struct trace_messages *messages;
    unsigned char *roles; /* [function]: enum path_role */
    struct path_thread *threads;
    size_t thread_count;
    struct path_region *regions;
    struct qmpi_table requests; /* values are struct path_part */
    struct qmpi_table counts;   /* for find_number: uint64_t, number of collectives */
    struct path_part *copies;   /* copies of communicators that are in progress */
    size_t copy_count, copy_room;
    uint32_t window_comm; /* communicator of the last window that was created */
    int64_t blind;        /* from this time on, the messages of the process are unknown */

    /* Time outside MPI counts as work if MPI is initialized, also by a session (has_begun), and
     * recording is on (is_on). `has_called` says whether a call has begun since MPI was
     * initialized. */
    bool has_begun, is_on, has_called;
    bool has_world; /* MPI_Init was called */
    bool is_over;
    size_t sessions;
    double clock;   /* clock of the thread that left MPI last */
    uint64_t since; /* the ticks when that thread left MPI */
    uint64_t part;  /* number of the part of the run; parts are separated by times when recording
                       was off */
    double path;    /* the result */

    /* The state of reading. */
    struct trace_event event;
    uint64_t message; /* number of the message of the current event, or 0 */
};

struct trace_path {
    const struct trace *trace;
    struct path_process *processes;
    uint32_t *by_rank; /* by rank in MPI_COMM_WORLD: index of the process, or NOBODY if it is not in
                          the trace */
    size_t rank_count;
    struct trace_path_order order;
    struct qmpi_table sent;        /* message -> double, clock of the sender */
    struct qmpi_table collectives; /* values are struct path_collective */
    bool failed;                   /* memory was exhausted */
};

/* ---- The clocks of a process ----------------------------------------------------------------- */

static bool is_working(const struct path_process *it)
{
    return it->has_begun && it->is_on;
}

static double time_of_work(const struct path_process *it, uint64_t since, uint64_t now)
{
    return now > since ? (double)(now - since) * it->process->tick : 0;
}

/* Returns the largest clock of a process. A thread outside MPI has the clock with which it has left
 * MPI; its work since then is not included. */
static double find_largest_clock(const struct path_process *it)
{
    double most = 0;
    for (size_t i = 0; i < it->thread_count; i++)
        most = it->threads[i].clock > most ? it->threads[i].clock : most;
    return most;
}

static void raise_clock(struct path_thread *thread, double clock)
{
    if (clock > thread->clock)
        thread->clock = clock;
}

/* Called when time outside MPI up to now must not count as work. */
static void restart_work(struct path_process *it, uint64_t now)
{
    for (size_t i = 0; i < it->thread_count; i++) {
        if (!it->threads[i].depth)
            it->threads[i].since = now;
    }
    it->since = now;
}

static void end_work(struct path_process *it)
{
    it->path = find_largest_clock(it);
    for (size_t i = 0; i < it->process->region_count; i++) {
        struct path_region *region = &it->regions[i];
        if (region->open)
            region->path += it->path - region->since;
        region->open = 0;
    }
}

static void enter_path_call(struct trace_path *path, struct path_process *it,
                            struct path_thread *thread)
{
    const struct trace_event *event = &it->event;
    if (!QMPI_MEMORY_RESERVE(thread->calls, thread->room, thread->depth + 1)) {
        path->failed = true;
        return;
    }
    if (!thread->depth) {
        if (!thread->has_called) {
            thread->clock = it->clock;
            thread->since = it->since;
        }
        if (is_working(it) && thread->since)
            thread->clock += time_of_work(it, thread->since, event->ticks);
        thread->has_called = true;
        it->has_called |= it->has_begun;
    }
    thread->calls[thread->depth++] = (struct path_call){.function = event->function};
    const unsigned role = it->roles[event->function];
    if (role == PATH_ENDS_MPI) {
        end_work(it);
        it->is_over = true;
    } else if (role == PATH_ENDS_SESSION && it->sessions && !--it->sessions && !it->has_world) {
        it->has_begun = false;
    }
}

static void leave_path_call(struct path_process *it, struct path_thread *thread)
{
    const unsigned role = it->roles[thread->calls[--thread->depth].function];
    it->has_world |= role == PATH_BEGINS_MPI;
    it->sessions += role == PATH_BEGINS_SESSION;
    it->has_begun |= role == PATH_BEGINS_MPI || role == PATH_BEGINS_SESSION;
    if (thread->depth)
        return;
    thread->since = it->since = it->event.ticks;
    it->clock = thread->clock;
}

static void change_path_region(struct path_process *it)
{
    if (it->event.object >= it->process->region_count)
        return;
    struct path_region *region = &it->regions[it->event.object];
    const double now = find_largest_clock(it);
    if (it->event.kind == TRACE_REGION_BEGIN && !region->open++)
        region->since = now;
    else if (it->event.kind == TRACE_REGION_END && region->open && !--region->open)
        region->path += now - region->since;
}

static void switch_recording(struct path_process *it)
{
    const bool on = it->event.kind == TRACE_ON;
    if (on == it->is_on)
        return;
    it->is_on = on;
    if (on) {
        restart_work(it, it->event.ticks);
        return;
    }
    it->part++;
    qmpi_table_free(&it->counts);
    qmpi_table_free(&it->requests);
    it->copy_count = 0;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Returns whether the other end of a message may be in the trace. */
static bool has_peer(const struct trace_path *path, const struct path_process *it)
{
    const int rank = trace_event_world_rank(it->process, it->event.comm, it->event.peer);
    if (rank < 0 || (size_t)rank >= path->rank_count)
        return rank < 0; /* the rank is unknown */
    const uint32_t peer = path->by_rank[rank];
    return peer != NOBODY && path->processes[peer].blind > it->event.time;
}

static void send_clock(struct trace_path *path, const struct path_process *it,
                       const struct path_thread *thread)
{
    if (!it->message || !has_peer(path, it))
        return;
    double *clock = qmpi_table_put(&path->sent, it->message);
    if (clock)
        *clock = thread->clock;
    trace_path_order_wake(&path->order, it->message);
}

/* If the source of the message was not recorded (MPI_Isendrecv), chooses a message that was sent:
 * the one with the lowest clock. */
static void guess_message(struct trace_path *path, struct path_process *it)
{
    const struct trace_process *process = it->process;
    struct trace_event event = it->event, best = event;
    double least = -1;
    if (event.comm >= process->comm_count || event.peer != TRACE_ANY || event.tag == TRACE_ANY)
        return;
    const struct trace_comm *comm = &process->comms[event.comm];
    const int size = comm->remote ? comm->remote_size : comm->size;
    for (event.peer = 0; event.peer < size; event.peer++) {
        const double *clock =
            qmpi_table_get(&path->sent, trace_messages_guess(it->messages, &event, false));
        if (clock && (least < 0 || *clock < least)) {
            least = *clock;
            best = event;
        }
    }
    if (least < 0)
        return;
    it->event = best;
    it->message = trace_messages_guess(it->messages, &best, true);
}

/* If the received message was the last one in flight, forgets the counts of its channel. */
static void forget_channel(const struct trace_path *path, const struct path_process *it)
{
    const int rank = trace_event_world_rank(it->process, it->event.comm, it->event.peer);
    const uint32_t peer =
        rank >= 0 && (size_t)rank < path->rank_count ? path->by_rank[rank] : NOBODY;
    if (peer != NOBODY)
        trace_messages_forget_channel(path->processes[peer].messages, it->messages, &it->event);
}

/* Raises the clock of a thread to the clock that the sender of a message had. Returns false if the
 * process must wait. */
static bool receive_clock(struct trace_path *path, uint32_t process, struct path_thread *thread)
{
    struct path_process *it = &path->processes[process];
    if (!it->message && it->event.kind == TRACE_IRECV)
        guess_message(path, it);
    if (!it->message)
        return true;
    const double *clock = qmpi_table_get(&path->sent, it->message);
    if (!clock)
        return !has_peer(path, it) ||
               trace_path_order_wait(&path->order, process, it->message, false);
    raise_clock(thread, *clock);
    qmpi_table_remove(&path->sent, it->message);
    forget_channel(path, it);
    return true;
}

/* ---- Collectives ----------------------------------------------------------------------------- */

enum { COUNT_CALLS, COUNT_FENCES, COUNT_FREES, COUNT_CREATES };

/* Returns the number of the next collective of a kind (COUNT_…) on a communicator, which is the
 * same in all members. Returns 0 if the communicator is unknown or has no identity. */
static uint64_t find_number(struct trace_path *path, struct path_process *it, uint32_t comm,
                            unsigned kind)
{
    if (comm >= it->process->comm_count || !it->process->comms[comm].id)
        return 0;
    const uint64_t place = qmpi_table_mix_two(it->process->comms[comm].id, 4 * it->part + kind);
    uint64_t *count = qmpi_table_put(&it->counts, place);
    path->failed |= !count;
    const uint64_t number = count ? place + (*count)++ : 0;
    return number ? number : 1;
}

/* Returns how many ranks of a group are in the trace, or `size` if the group is unknown. */
static int count_members(const struct trace_path *path, const int *group, int size)
{
    int members = 0;
    if (!group)
        return size;
    for (int i = 0; i < size; i++)
        members += group[i] >= 0 && (size_t)group[i] < path->rank_count &&
                   path->by_rank[group[i]] != NOBODY;
    return members;
}

/* Returns the side of an intercommunicator to which the process belongs. All members agree on the
 * sides. */
static int find_side(const struct trace_comm *comm)
{
    return comm->remote && comm->group && comm->size && comm->remote_size &&
           comm->group[0] > comm->remote[0];
}

static bool is_root_of(const struct trace_comm *comm, int root)
{
    return comm->remote ? root == TRACE_ROOT_SELF : root >= 0 && root == comm->rank;
}

static struct path_collective *find_path_collective(struct trace_path *path,
                                                    const struct trace_comm *comm, uint64_t number,
                                                    bool has_ranks)
{
    struct path_collective *it = qmpi_table_put(&path->collectives, number);
    if (!it)
        return NULL;
    if (!it->begun[0] && !it->begun[1]) {
        const int side = find_side(comm);
        it->size[side] = count_members(path, comm->group, comm->size);
        it->size[!side] = comm->remote ? count_members(path, comm->remote, comm->remote_size) : 0;
    }
    if (has_ranks && !it->ranks && comm->size > 0) {
        it->ranks = malloc((size_t)comm->size * sizeof *it->ranks);
        for (int i = 0; it->ranks && i < comm->size; i++)
            it->ranks[i] = -1;
        path->failed |= !it->ranks;
    }
    return it;
}

static void note_rank_clock(struct path_collective *it, const struct trace_comm *comm, double clock)
{
    if (!it->ranks || comm->rank < 0 || comm->rank >= comm->size)
        return;
    it->ranks[comm->rank] = clock;
    for (; it->prefix < comm->size && it->ranks[it->prefix] >= 0; it->prefix++) {
        const double lower = it->prefix ? it->ranks[it->prefix - 1] : 0;
        if (it->ranks[it->prefix] < lower)
            it->ranks[it->prefix] = lower;
    }
}

static void begin_path_collective(struct trace_path *path, struct path_process *it,
                                  const struct path_part *part, enum path_role role, double clock)
{
    if (!part->number)
        return;
    const struct trace_comm *comm = &it->process->comms[part->comm];
    const bool has_ranks = role == PATH_PREFIX && !comm->remote;
    struct path_collective *collective = find_path_collective(path, comm, part->number, has_ranks);
    if (!collective)
        return;
    const int side = find_side(comm);
    collective->begun[side]++;
    if (clock > collective->latest[side])
        collective->latest[side] = clock;
    if (is_root_of(comm, part->root)) {
        collective->root = clock;
        collective->has_root = true;
    }
    if (has_ranks)
        note_rank_clock(collective, comm, clock);
    if (collective->has_root || has_ranks || collective->begun[side] >= collective->size[side])
        trace_path_order_wake(&path->order, part->number);
}

/* Returns the clock on which a member depends, or a negative number if it depends on none. Sets
 * *is_there to whether all members on which it depends have begun. */
static double find_dependency(const struct path_collective *it, const struct trace_comm *comm,
                              enum path_role role, int root, bool *is_there)
{
    const int side = find_side(comm), from = comm->remote ? !side : side;
    *is_there = true;
    if (role == PATH_NOTHING || (role == PATH_FROM_ROOT && (is_root_of(comm, root) || root < 0)) ||
        (role == PATH_TO_ROOT && !is_root_of(comm, root)))
        return -1;
    if (role == PATH_FROM_ROOT) {
        *is_there = it->has_root;
        return it->has_root ? it->root : -1;
    }
    if (role != PATH_PREFIX || !it->ranks || comm->rank < 0) {
        *is_there = it->begun[from] >= it->size[from];
        return it->latest[from];
    }
    *is_there = it->prefix >= comm->rank;
    const int lower = it->prefix < comm->rank ? it->prefix : comm->rank;
    return lower ? it->ranks[lower - 1] : -1;
}

/* Ends a collective in a member. Returns false if the process must wait. */
static bool end_path_collective(struct trace_path *path, uint32_t process,
                                struct path_thread *thread, const struct path_part *part,
                                enum path_role role)
{
    struct path_process *it = &path->processes[process];
    struct path_collective *collective =
        part->number ? qmpi_table_get(&path->collectives, part->number) : NULL;
    if (!collective)
        return true;
    bool is_there;
    const bool is_firm = role == PATH_CREATES || role == PATH_FREES_WINDOW;
    const double clock =
        find_dependency(collective, &it->process->comms[part->comm], role, part->root, &is_there);
    if (!is_there && !trace_path_order_wait(&path->order, process, part->number, is_firm))
        return false;
    raise_clock(thread, clock);
    if (++collective->ended >= collective->size[0] + collective->size[1]) {
        free(collective->ranks);
        qmpi_table_remove(&path->collectives, part->number);
    }
    return true;
}

/* ---- Events of collectives ------------------------------------------------------------------- */

static enum path_role role_of_function(const struct path_process *it, uint32_t function)
{
    return function < it->process->function_count ? (enum path_role)it->roles[function]
                                                  : PATH_NOTHING;
}

/* Begins a collective on a communicator for the call in progress. */
static void begin_collective_of_call(struct trace_path *path, struct path_process *it,
                                     struct path_thread *thread, struct path_call *call,
                                     uint32_t comm, unsigned kind)
{
    const enum path_role role = role_of_function(it, call->function);
    if (call->part.number)
        return;
    call->part = (struct path_part){find_number(path, it, comm, kind), comm, it->event.root};
    begin_path_collective(path, it, &call->part, role, thread->clock);
}

static void begin_collective_of_request(struct trace_path *path, struct path_process *it,
                                        struct path_thread *thread, const struct path_call *call)
{
    const struct trace_event *event = &it->event;
    struct path_part *part = qmpi_table_put(&it->requests, event->request);
    if (!part)
        return;
    *part = (struct path_part){find_number(path, it, event->comm, COUNT_CALLS), event->comm,
                               event->root};
    begin_path_collective(path, it, part, role_of_function(it, call->function), thread->clock);
}

/* Ends the collective of a request. Returns false if the process must wait. */
static bool end_collective_of_request(struct trace_path *path, uint32_t process,
                                      struct path_thread *thread)
{
    struct path_process *it = &path->processes[process];
    const struct path_part *part = qmpi_table_get(&it->requests, it->event.request);
    if (!part)
        return true;
    if (!end_path_collective(path, process, thread, part, role_of_function(it, it->event.function)))
        return false;
    qmpi_table_remove(&it->requests, it->event.request);
    return true;
}

static void begin_copied_comm(struct trace_path *path, struct path_process *it,
                              struct path_thread *thread)
{
    if (!QMPI_MEMORY_RESERVE(it->copies, it->copy_room, it->copy_count + 1)) {
        path->failed = true;
        return;
    }
    it->copies[it->copy_count] = (struct path_part){
        find_number(path, it, it->event.comm, COUNT_CALLS), it->event.comm, TRACE_UNDEFINED};
    begin_path_collective(path, it, &it->copies[it->copy_count++], PATH_ALL, thread->clock);
}

/* Handles the creation of a communicator: ends the copying of its parent, or begins the collective
 * that creates it. Returns false if the process must wait. */
static bool follow_created_comm(struct trace_path *path, uint32_t process,
                                struct path_thread *thread, struct path_call *call)
{
    struct path_process *it = &path->processes[process];
    const uint32_t comm = it->event.comm;
    if (comm >= it->process->comm_count)
        return true;
    if (role_of_function(it, call->function) == PATH_CREATES) {
        begin_collective_of_call(path, it, thread, call, comm, COUNT_CREATES);
        return true;
    }
    for (size_t i = 0; i < it->copy_count; i++) {
        if (it->process->comms[it->copies[i].comm].id != it->process->comms[comm].parent)
            continue;
        if (!end_path_collective(path, process, thread, &it->copies[i], PATH_ALL))
            return false;
        memmove(&it->copies[i], &it->copies[i + 1], (--it->copy_count - i) * sizeof *it->copies);
        break;
    }
    return true;
}

static uint32_t find_window_comm(const struct path_process *it)
{
    return it->event.object < it->process->window_count
               ? it->process->windows[it->event.object].comm
               : TRACE_NONE;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Handles an event within a call. Returns false if the process must wait. */
static bool follow_inner_event(struct trace_path *path, uint32_t process,
                               struct path_thread *thread, struct path_call *call)
{
    struct path_process *it = &path->processes[process];
    const struct trace_event *event = &it->event;
    const enum path_role role = role_of_function(it, call->function);
    switch (event->kind) {
    case TRACE_SEND:
    case TRACE_ISEND:
        send_clock(path, it, thread);
        return true;
    case TRACE_RECV:
    case TRACE_IRECV:
        return receive_clock(path, process, thread);
    case TRACE_COLLECTIVE_BEGIN:
        begin_collective_of_call(path, it, thread, call, event->comm, COUNT_CALLS);
        return true;
    case TRACE_ICOLLECTIVE_REQUEST:
        begin_collective_of_request(path, it, thread, call);
        return true;
    case TRACE_ICOLLECTIVE_COMPLETE:
        return end_collective_of_request(path, process, thread);
    case TRACE_REQUEST_FREED:
        qmpi_table_remove(&it->requests, event->request);
        return true;
    case TRACE_CALL_OBJECT:
        if (role == PATH_OBJECT)
            begin_collective_of_call(path, it, thread, call, event->comm, COUNT_CALLS);
        else if (role == PATH_COPIES)
            begin_copied_comm(path, it, thread);
        return true;
    case TRACE_COMM_CREATE:
        return follow_created_comm(path, process, thread, call);
    case TRACE_WIN_CREATE:
        it->window_comm = find_window_comm(it);
        return true;
    case TRACE_WIN_DESTROY:
        if (role == PATH_FREES_WINDOW)
            begin_collective_of_call(path, it, thread, call, find_window_comm(it), COUNT_FREES);
        return true;
    default:
        return true;
    }
}

/* Handles an event. Returns false if the process must wait. */
static bool follow_event(struct trace_path *path, uint32_t process)
{
    struct path_process *it = &path->processes[process];
    const struct trace_event *event = &it->event;
    if (event->location >= it->thread_count)
        return true;
    struct path_thread *thread = &it->threads[event->location];
    struct path_call *call = thread->depth ? &thread->calls[thread->depth - 1] : NULL;
    switch (event->kind) {
    case TRACE_ENTER:
        if (event->function >= it->process->function_count)
            return true;
        enter_path_call(path, it, thread);
        /* The window of a fence is not recorded. The window that was created last is used
         * instead. */
        if (thread->depth && it->roles[event->function] == PATH_FENCE)
            begin_collective_of_call(path, it, thread, &thread->calls[thread->depth - 1],
                                     it->window_comm, COUNT_FENCES);
        return true;
    case TRACE_LEAVE:
        if (call && !end_path_collective(path, process, thread, &call->part,
                                         role_of_function(it, call->function)))
            return false;
        if (call)
            leave_path_call(it, thread);
        return true;
    case TRACE_INTERRUPTED:
        if (call)
            leave_path_call(it, thread);
        return true;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        change_path_region(it);
        return true;
    case TRACE_FLUSH: /* the time that tools use at the end of MPI_Init does not belong to the
                         program */
        if (is_working(it) && !it->has_called && event->ticks + event->bytes > it->since)
            restart_work(it, event->ticks + event->bytes);
        return true;
    case TRACE_OFF:
    case TRACE_ON:
        switch_recording(it);
        return true;
    default:
        return !call || follow_inner_event(path, process, thread, call);
    }
}

/* Ends the work of a process, unless MPI_Finalize has ended it. */
static void end_path_process(struct path_process *it)
{
    if (it->is_over)
        return;
    for (size_t i = 0; i < it->thread_count; i++) {
        struct path_thread *thread = &it->threads[i];
        if (!thread->depth && thread->since == it->since && it->since && is_working(it))
            thread->clock += time_of_work(it, it->since, it->process->end_ticks);
    }
    end_work(it);
}

/* Reads the next event of a process. */
static void read_next_event(struct trace_path *path, uint32_t process)
{
    struct path_process *it = &path->processes[process];
    if (it->is_over || !trace_cursor_next(it->cursor, &it->event, NULL)) {
        end_path_process(it);
        return;
    }
    it->message = trace_messages_next(it->messages, &it->event);
    trace_path_order_add(&path->order, process, it->event.time);
}

static void read_all_events(struct trace_path *path)
{
    uint32_t process;
    while (!path->failed && !path->order.failed && trace_path_order_next(&path->order, &process)) {
        if (follow_event(path, process))
            read_next_event(path, process);
    }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static bool start_path_process(struct trace_path *path, uint32_t number)
{
    const struct trace_process *process = &path->trace->processes[number];
    struct path_process *it = &path->processes[number];
    it->process = process;
    it->is_on = true;
    it->window_comm = TRACE_NONE;
    it->thread_count = process->location_count ? process->location_count : 1;
    qmpi_table_start(&it->requests, sizeof(struct path_part));
    qmpi_table_start(&it->counts, sizeof(uint64_t));
    it->roles = calloc(process->function_count + 1, sizeof *it->roles);
    it->threads = calloc(it->thread_count, sizeof *it->threads);
    it->regions = calloc(process->region_count + 1, sizeof *it->regions);
    it->messages = trace_messages_read(path->trace, number, true);
    it->cursor = trace_cursor_make(path->trace, number, TRACE_NONE, NULL);
    if (!it->roles || !it->threads || !it->regions || !it->messages || !it->cursor)
        return false;
    const uint64_t gap = trace_messages_gap(it->messages);
    it->blind = gap == UINT64_MAX ? INT64_MAX : trace_reader_time(path->trace, process, gap);
    for (size_t i = 0; i < process->function_count; i++)
        it->roles[i] = (unsigned char)find_role(process->functions[i].name);
    trace_messages_rewind(it->messages);
    read_next_event(path, number);
    return true;
}

static bool index_ranks(struct trace_path *path)
{
    const struct trace *trace = path->trace;
    for (size_t i = 0; i < trace->process_count; i++) {
        const int rank = trace->processes[i].rank;
        if (rank >= 0 && (size_t)rank >= path->rank_count)
            path->rank_count = (size_t)rank + 1;
    }
    path->by_rank = malloc((path->rank_count + 1) * sizeof *path->by_rank);
    for (size_t i = 0; path->by_rank && i < path->rank_count; i++)
        path->by_rank[i] = NOBODY;
    for (uint32_t i = 0; path->by_rank && i < trace->process_count; i++) {
        if (trace->processes[i].rank >= 0)
            path->by_rank[trace->processes[i].rank] = i;
    }
    return path->by_rank;
}

struct trace_path *trace_path_find(const struct trace *trace)
{
    struct trace_path *path = calloc(1, sizeof *path);
    if (!path)
        return NULL;
    path->trace = trace;
    qmpi_table_start(&path->sent, sizeof(double));
    qmpi_table_start(&path->collectives, sizeof(struct path_collective));
    path->processes = calloc(trace->process_count + 1, sizeof *path->processes);
    path->failed =
        !trace_path_order_start(&path->order, trace) || !path->processes || !index_ranks(path);
    for (uint32_t i = 0; i < trace->process_count && !path->failed; i++)
        path->failed = !start_path_process(path, i);
    read_all_events(path);
    for (uint32_t i = 0; path->processes && i < trace->process_count; i++)
        path->failed |=
            path->processes[i].messages && trace_messages_failed(path->processes[i].messages);
    if (!path->failed && !path->order.failed && !path->sent.failed && !path->collectives.failed)
        return path;
    trace_path_free(path);
    return NULL;
}

static void free_ranks(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(((struct path_collective *)value)->ranks);
}

void trace_path_free(struct trace_path *path)
{
    if (!path)
        return;
    for (size_t i = 0; path->processes && i < path->trace->process_count; i++) {
        struct path_process *it = &path->processes[i];
        for (size_t k = 0; it->threads && k < it->thread_count; k++)
            free(it->threads[k].calls);
        trace_cursor_free(it->cursor);
        trace_messages_free(it->messages);
        qmpi_table_free(&it->requests);
        qmpi_table_free(&it->counts);
        free(it->roles);
        free(it->threads);
        free(it->regions);
        free(it->copies);
    }
    qmpi_table_each(&path->collectives, free_ranks, NULL);
    qmpi_table_free(&path->sent);
    qmpi_table_free(&path->collectives);
    trace_path_order_free(&path->order);
    free(path->processes);
    free(path->by_rank);
    free(path);
}

void trace_path_fill(const struct trace_path *path, uint32_t process, struct profile_result *result)
{
    const struct path_process *it = &path->processes[process];
    const double clock = it->path * 1e-9;
    for (size_t i = 0; i < result->process_count; i++) {
        const double useful = result->processes[i].useful;
        result->processes[i].path = clock > useful ? clock : useful;
    }
    for (size_t i = 0; i < result->region_count; i++) {
        for (size_t k = 0; k < it->process->region_count; k++) {
            if (!strcmp(it->process->regions[k].name, result->regions[i].name))
                result->regions[i].path = it->regions[k].path * 1e-9;
        }
    }
}
