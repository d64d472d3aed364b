/* SPDX-License-Identifier: MIT */
/* See collectives.h. */
#include "path/collectives.h"

#include "path/topology.h"

#include <stdlib.h>

static uint64_t largest(const uint64_t *values, int count)
{
    uint64_t most = 0;
    for (int i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* ---- Nonblocking ----------------------------------------------------------------------------- */

void path_collective_start(struct path_request *it, uint64_t value)
{
    const struct path_comm *comm = it->comm;
    MPI_Request *clocks = &it->clocks;
    it->sent = value;
    it->result = 0;
    it->is_active = true;
    switch (it->direction) {
    case PATH_TO_ALL:
        PMPI_Iallreduce(&it->sent, &it->result, 1, MPI_UINT64_T, MPI_MAX, comm->shadow, clocks);
        break;
    case PATH_FROM_ROOT:
        it->result = value;
        PMPI_Ibcast(&it->result, 1, MPI_UINT64_T, it->root, comm->shadow, clocks);
        break;
    case PATH_TO_ROOT:
        PMPI_Ireduce(&it->sent, &it->result, 1, MPI_UINT64_T, MPI_MAX, it->root, comm->shadow,
                     clocks);
        break;
    case PATH_SCAN:
        PMPI_Iscan(&it->sent, &it->result, 1, MPI_UINT64_T, MPI_MAX, comm->shadow, clocks);
        break;
    case PATH_EXSCAN:
        PMPI_Iexscan(&it->sent, &it->result, 1, MPI_UINT64_T, MPI_MAX, comm->shadow, clocks);
        break;
    case PATH_TO_NEIGHBORS:
        it->received = calloc((size_t)comm->neighbor_count + 1, sizeof *it->received);
        if (comm->neighbors != MPI_COMM_NULL && it->received)
            PMPI_Ineighbor_allgather(&it->sent, 1, MPI_UINT64_T, it->received, 1, MPI_UINT64_T,
                                     comm->neighbors, clocks);
        break;
    default:
        break;
    }
}

uint64_t path_collective_finish(struct path_request *it)
{
    uint64_t value = 0;
    if (it->clocks != MPI_REQUEST_NULL && PMPI_Wait(&it->clocks, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        value = it->received ? largest(it->received, it->comm->neighbor_count) : it->result;
    free(it->received);
    it->received = NULL;
    it->clocks = MPI_REQUEST_NULL;
    it->is_active = false;
    return value;
}

/* ---- Blocking -------------------------------------------------------------------------------- */

static uint64_t collect_neighbors(const struct path_comm *comm, const uint64_t *value)
{
    uint64_t most = 0, *received = calloc((size_t)comm->neighbor_count + 1, sizeof *received);
    if (comm->neighbors != MPI_COMM_NULL && received &&
        PMPI_Neighbor_allgather(value, 1, MPI_UINT64_T, received, 1, MPI_UINT64_T,
                                comm->neighbors) == MPI_SUCCESS)
        most = largest(received, comm->neighbor_count);
    free(received);
    return most;
}

static uint64_t collect(const struct path_comm *comm, enum path_direction direction, int root,
                        uint64_t value)
{
    uint64_t most = 0;
    switch (direction) {
    case PATH_TO_ALL:
        PMPI_Allreduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, comm->shadow);
        return most;
    case PATH_FROM_ROOT:
        PMPI_Bcast(&value, 1, MPI_UINT64_T, root, comm->shadow);
        return value;
    case PATH_TO_ROOT:
        PMPI_Reduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, root, comm->shadow);
        return most;
    case PATH_SCAN:
        PMPI_Scan(&value, &most, 1, MPI_UINT64_T, MPI_MAX, comm->shadow);
        return most;
    case PATH_EXSCAN:
        PMPI_Exscan(&value, &most, 1, MPI_UINT64_T, MPI_MAX, comm->shadow);
        return most;
    case PATH_TO_NEIGHBORS:
        return collect_neighbors(comm, &value);
    default:
        return 0;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static int root_of(const QMPIX_Call *call, const struct path_role *role)
{
    return role->root < 0 ? 0 : argument_int(call, role->root);
}

static struct path_request *add_request(struct path *path, const QMPIX_Call *call,
                                        const struct path_role *role, struct path_comm *comm)
{
    const MPI_Request request = argument_request_at(call, role->request, 0);
    path_lock(path);
    struct path_request *it =
        request == MPI_REQUEST_NULL ? NULL : path_request_add(&path->requests, request);
    if (it) {
        it->kind = PATH_REDUCTION;
        it->is_persistent = role->is_persistent;
        it->comm = comm;
        it->direction = (enum path_direction)role->direction;
        it->root = root_of(call, role);
    }
    path_unlock(path);
    return it;
}

void path_collective_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                           const struct path_role *role)
{
    struct path_comm *comm =
        path_has_happened(call) ? path_find_comm(path, argument_comm(call, role->comm)) : NULL;
    if (!comm)
        return;
    if (role->request < 0) {
        path_clock_reach(clock, collect(comm, (enum path_direction)role->direction,
                                        root_of(call, role), clock->value));
        return;
    }
    struct path_request *request = add_request(path, call, role, comm);
    if (request && !role->is_persistent)
        path_collective_start(request, clock->value);
}

void path_collective_follow(struct path *path, MPI_Comm comm, MPI_Group world)
{
    int neighbor_count = 0;
    MPI_Comm shadow = path_comm_make_shadow(comm, world);
    if (shadow == MPI_COMM_NULL)
        return;
    MPI_Comm neighbors = path_topology_copy(comm, shadow, &neighbor_count);
    path_lock(path);
    path_comm_add(&path->comms, comm, shadow, neighbors, neighbor_count);
    path_unlock(path);
}

void path_create_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role, MPI_Group world)
{
    if (!argument_result_is_success(call))
        return;
    if (role->direction != PATH_TO_NOBODY)
        path_collective_after(path, clock, call, role);
    const MPI_Comm created = argument_comm_at(call, role->created);
    if (created == MPI_COMM_NULL || world == MPI_GROUP_NULL)
        return;
    path_collective_follow(path, created, world);
    struct path_comm *comm =
        role->direction == PATH_TO_NOBODY ? path_find_comm(path, created) : NULL;
    if (comm)
        path_clock_reach(clock, collect(comm, PATH_TO_ALL, 0, clock->value));
}

/* The shadow is copied in the same way. */
void path_copy_after(struct path *path, const struct path_clock *clock, const QMPIX_Call *call,
                     const struct path_role *role)
{
    struct path_comm *comm = argument_result_is_success(call)
                                 ? path_find_comm(path, argument_comm(call, role->comm))
                                 : NULL;
    struct path_request *request = comm ? add_request(path, call, role, comm) : NULL;
    if (!request)
        return;
    request->kind = PATH_COPY;
    request->function = call->function;
    request->created = role->created;
    request->copied = argument_address(call, role->created);
    PMPI_Comm_idup(comm->shadow, &request->shadow, &request->copying);
    path_collective_start(request, clock->value);
}

/* ---- Windows --------------------------------------------------------------------------------- */

void path_window_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                        const struct path_role *role)
{
    MPI_Win window = MPI_WIN_NULL;
    QMPIX_Call_get_elements(call, role->window, 0, 1, &window);
    path_lock(path);
    struct path_comm *comm = path_window_remove(&path->windows, window);
    path_unlock(path);
    if (!comm)
        return;
    path_clock_reach(clock, collect(comm, PATH_TO_ALL, 0, clock->value));
    path_lock(path);
    path_comm_release(comm);
    path_unlock(path);
}

static bool is_fence_without_epoch(const QMPIX_Call *call, const struct path_role *role)
{
    int assertion = 0;
    QMPIX_Call_get_argument(call, role->assertion, &assertion);
    return (assertion & MPI_MODE_NOPRECEDE) != 0;
}

void path_window_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role)
{
    if (!argument_result_is_success(call))
        return;
    if (role->event == PATH_CREATES_WINDOW) {
        path_collective_after(path, clock, call, role);
        struct path_comm *comm = path_find_comm(path, argument_comm(call, role->comm));
        MPI_Win window = MPI_WIN_NULL;
        QMPIX_Call_get_elements(call, role->window, 0, 1, &window);
        path_lock(path);
        if (comm)
            path_window_add(&path->windows, window, comm);
        path_unlock(path);
    } else if (!is_fence_without_epoch(call, role)) {
        MPI_Win window = MPI_WIN_NULL;
        QMPIX_Call_get_argument(call, role->window, &window);
        path_lock(path);
        struct path_comm *comm = path_window_find(&path->windows, window);
        path_unlock(path);
        if (comm)
            path_clock_reach(clock, collect(comm, PATH_TO_ALL, 0, clock->value));
    }
}
