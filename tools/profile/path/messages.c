/* SPDX-License-Identifier: MIT */
/* See messages.h. */
#include "path/messages.h"

#include "path/collectives.h"
#include "util/util.h"

/* ---- Sending --------------------------------------------------------------------------------- */

static void add_surplus(struct path *path, MPI_Comm shadow, int dest, int tag)
{
    struct path_surplus *surplus = qmpi_arena_take(sizeof *surplus);
    if (!surplus)
        return;
    *surplus = (struct path_surplus){shadow, dest, tag, path->surplus};
    path->surplus = surplus;
}

/* Whether the stream has a clock for the next message already. */
static bool use_surplus(struct path *path, MPI_Comm shadow, int dest, int tag)
{
    struct path_surplus **place = &path->surplus;
    while (*place && ((*place)->shadow != shadow || (*place)->dest != dest || (*place)->tag != tag))
        place = &(*place)->next;
    if (!*place)
        return false;
    *place = (*place)->next;
    return true;
}

/* Returns whether a clock was sent. */
static bool send_clock(struct path *path, struct path_clock *clock, MPI_Comm handle, int dest,
                       int tag)
{
    if (dest == MPI_PROC_NULL)
        return false;
    path_lock(path);
    const struct path_comm *comm = path_comm_find(&path->comms, handle);
    const bool skip = comm && path->surplus && use_surplus(path, comm->shadow, dest, tag);
    const MPI_Comm shadow = comm && !skip ? comm->shadow : MPI_COMM_NULL;
    path_unlock(path);
    return shadow != MPI_COMM_NULL && path_send(clock, shadow, dest, tag);
}

void path_message_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                         const struct path_role *role)
{
    clock->sent = role->dest >= 0 && !role->is_persistent &&
                  send_clock(path, clock, argument_comm(call, role->comm),
                             argument_int(call, role->dest), argument_int(call, role->send_tag));
}

/* Nothing was sent after the clock. */
static void take_back(struct path *path, const QMPIX_Call *call, const struct path_role *role)
{
    const struct path_comm *comm = path_find_comm(path, argument_comm(call, role->comm));
    path_lock(path);
    if (comm)
        add_surplus(path, comm->shadow, argument_int(call, role->dest),
                    argument_int(call, role->send_tag));
    path_unlock(path);
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* A blocking receive, or a matched probe. */
static void received(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                     const struct path_role *role)
{
    MPI_Status status;
    int source = argument_int(call, role->source);
    int tag = argument_int(call, role->receive_tag);
    if (role->flag >= 0 && !argument_int_at(call, role->flag))
        return;
    if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
        if (!argument_status_at(call, role->status, 0, &status))
            return; /* memory is exhausted */
        source = status.MPI_SOURCE;
        tag = status.MPI_TAG;
    }
    if (source == MPI_PROC_NULL)
        return;
    path_lock(path);
    struct path_comm *comm = path_comm_find(&path->comms, argument_comm(call, role->comm));
    if (comm)
        path_clock_reach(clock, path_stream_take(&path->streams, comm, source, tag, NULL));
    path_unlock(path);
}

/* A request was made: it is posted now or, if it is persistent, with each start. */
static void add_request(struct path *path, const QMPIX_Call *call, const struct path_role *role)
{
    const MPI_Request handle = argument_request_at(call, role->request, 0);
    const int dest = role->dest < 0 ? MPI_PROC_NULL : argument_int(call, role->dest);
    const int source = role->source < 0 ? MPI_PROC_NULL : argument_int(call, role->source);
    if (source == MPI_PROC_NULL && (dest == MPI_PROC_NULL || !role->is_persistent))
        return;
    path_lock(path);
    struct path_comm *comm = path_comm_find(&path->comms, argument_comm(call, role->comm));
    struct path_request *request = comm ? path_request_add(&path->requests, handle) : NULL;
    if (request) {
        request->comm = comm;
        request->kind = source == MPI_PROC_NULL ? PATH_SEND : PATH_RECEIVE;
        request->is_persistent = role->is_persistent;
        request->has_status = role->dest < 0;
        request->dest = dest;
        request->source = source;
        request->send_tag = argument_int(call, role->send_tag);
        request->tag = argument_int(call, role->receive_tag);
        if (!role->is_persistent)
            path_stream_post(&path->streams, request);
    }
    path_unlock(path);
}

void path_message_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                        const struct path_role *role)
{
    const bool sent = clock->sent;
    clock->sent = false;
    if (!path_has_happened(call)) {
        if (sent)
            take_back(path, call, role);
    } else if (role->request >= 0) {
        add_request(path, call, role);
    } else if (role->source >= 0) {
        received(path, clock, call, role);
    }
}

/* ---- Persistent requests --------------------------------------------------------------------- */

static int count_of(const QMPIX_Call *call)
{
    return call->function->parameter_count == 2 ? argument_int(call, 0) : 1;
}

static struct path_request *find(struct path *path, MPI_Request handle)
{
    path_lock(path);
    struct path_request *request = path_request_find(&path->requests, handle);
    path_unlock(path);
    return request && request->is_persistent ? request : NULL;
}

void path_start_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role)
{
    for (int i = 0; i < count_of(call); i++) {
        const struct path_request *request =
            find(path, argument_request_at(call, role->request, i));
        if (!request || request->dest == MPI_PROC_NULL)
            continue;
        path_lock(path);
        const bool skip = path->surplus && use_surplus(path, request->comm->shadow, request->dest,
                                                       request->send_tag);
        path_unlock(path);
        if (!skip)
            path_send(clock, request->comm->shadow, request->dest, request->send_tag);
    }
}

void path_start_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                      const struct path_role *role)
{
    if (!argument_result_is_success(call))
        return;
    for (int i = 0; i < count_of(call); i++) {
        struct path_request *request = find(path, argument_request_at(call, role->request, i));
        if (request && request->kind == PATH_REDUCTION) {
            path_collective_start(request, clock->value);
        } else if (request && request->kind == PATH_RECEIVE) {
            path_lock(path);
            path_stream_post(&path->streams, request);
            path_unlock(path);
        }
    }
}

/* ---- Requests that are given up -------------------------------------------------------------- */

static void give_up(struct path *path, struct path_clock *clock, struct path_request *request)
{
    const bool is_wild = request->source == MPI_ANY_SOURCE || request->tag == MPI_ANY_TAG;
    path_request_detach(&path->requests, request);
    if (request->kind == PATH_RECEIVE && request->is_active) {
        path_stream_resolve(request);
        if (!request->is_resolved && !request->is_cancelled && !is_wild) {
            request->is_freed = true; /* streams.c drops it */
            return;
        }
        if (request->is_resolved && request->matched_source != MPI_PROC_NULL)
            path_clock_reach(clock, path_stream_take(&path->streams, request->comm,
                                                     request->matched_source, request->matched_tag,
                                                     request));
        path_stream_withdraw(&path->streams, request);
    }
    path_request_drop(&path->requests, request);
}

void path_free_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                      const struct path_role *role)
{
    const MPI_Request handle = argument_request_at(call, role->request, 0);
    if (handle == MPI_REQUEST_NULL)
        return;
    path_lock(path);
    struct path_request *request = path_request_find(&path->requests, handle);
    if (request)
        give_up(path, clock, request);
    path_unlock(path);
}

void path_cancel_after(struct path *path, const QMPIX_Call *call, const struct path_role *role)
{
    const MPI_Request handle = argument_request_at(call, role->request, 0);
    if (!argument_result_is_success(call))
        return;
    path_lock(path);
    struct path_request *request = path_request_find(&path->requests, handle);
    if (request)
        request->is_cancelled = true;
    path_unlock(path);
}
