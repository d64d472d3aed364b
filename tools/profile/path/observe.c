/* SPDX-License-Identifier: MIT */
/* See observe.h. */
#include "path/observe.h"

#include "path/collectives.h"
#include "path/completions.h"
#include "path/messages.h"
#include "path/state.h"
#include "record/record.h"
#include "record/regions.h"
#include "record/traits.h"

#include <stdlib.h>

bool path_start(struct layer *layer)
{
    struct path *path = calloc(1, sizeof *path);
    if (!path)
        return false;
    pthread_mutex_init(&path->lock, NULL);
    path->is_threaded = true; /* until MPI says otherwise */
    path->streams.is_threaded = true;
    path->streams.requests = &path->requests;
    path_clocks_start();
    path_roles_find();
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (path_roles[number].event != PATH_NOTHING)
            QMPIX_Tool_keep_function(layer->tool_id, (enum QMPI_Functions_enum)number);
    }
    layer->path = path;
    return true;
}

/* ---- The begin and end of MPI ---------------------------------------------------------------- */

/* Whether a persistent request that is complete becomes inactive when its status is asked for, so
 * that the program would get an empty one, as in MPICH 5.0.2. The program has no messages yet. */
static bool asking_ends(void)
{
    MPI_Request request;
    MPI_Status status = {.MPI_SOURCE = MPI_ANY_SOURCE};
    int flag = 0;
    if (PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS)
        return true;
    PMPI_Start(&request);
    PMPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    while (!flag)
        PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    PMPI_Wait(&request, &status);
    PMPI_Request_free(&request);
    return status.MPI_SOURCE != 0;
}

static void begin_mpi(struct path *path, const QMPIX_Call *call)
{
    int provided = MPI_THREAD_MULTIPLE;
    if (!argument_result_is_success(call))
        return;
    PMPI_Query_thread(&provided);
    path->is_threaded = path->streams.is_threaded = provided == MPI_THREAD_MULTIPLE;
    path->streams.asking_ends = asking_ends();
    path_collective_follow(path, MPI_COMM_WORLD, MPI_GROUP_NULL);
}

static void end_mpi(struct path *path)
{
    path->is_ended = true;
    path_sends_end(&path->clocks);
    path_lock(path);
    path_comms_end(&path->comms);
    path_unlock(path);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                   const struct path_role *role)
{
    switch (role->event) {
    case PATH_MESSAGE:
        path_message_before(path, clock, call, role);
        break;
    case PATH_STARTS:
        path_start_before(path, clock, call, role);
        break;
    case PATH_FREES_REQUEST:
        path_free_before(path, clock, call, role);
        break;
    case PATH_FREES_COMM: {
        const MPI_Comm comm = argument_comm_at(call, 0);
        path_lock(path);
        path_comm_remove(&path->comms, comm);
        path_unlock(path);
        break;
    }
    case PATH_FREES_WINDOW:
        path_window_before(path, clock, call, role);
        break;
    case PATH_ENDS_MPI:
        end_mpi(path);
        break;
    default:
        break;
    }
}

static void after(struct layer *layer, struct path_clock *clock, const QMPIX_Call *call,
                  const struct path_role *role)
{
    struct path *path = layer->path;
    switch (role->event) {
    case PATH_BEGINS_MPI:
        begin_mpi(path, call);
        break;
    case PATH_MESSAGE:
        path_message_after(path, clock, call, role);
        break;
    case PATH_STARTS:
        path_start_after(path, clock, call, role);
        break;
    case PATH_COMPLETES:
        path_complete_after(path, clock, call);
        break;
    case PATH_CANCELS:
        path_cancel_after(path, call, role);
        break;
    case PATH_COLLECTIVE:
        path_collective_after(path, clock, call, role);
        break;
    case PATH_CREATES:
        path_create_after(path, clock, call, role, layer->comms.world);
        break;
    case PATH_COPIES:
        path_copy_after(path, clock, call, role);
        break;
    case PATH_CREATES_WINDOW:
    case PATH_FENCE:
        path_window_after(path, clock, call, role);
        break;
    default:
        break;
    }
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Switched off, the layer follows clocks all the same. */
static bool is_noted(const struct layer *layer, const QMPIX_Call *call)
{
    const struct traits *traits = &traits_all[call->function->number];
    return profile_is_on_for(layer, (int)call->function->number) ||
           traits_set_always_on(traits, layer->options.sync);
}

void path_observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    struct path *path = layer->path;
    const struct path_role *role = &path_roles[call->function->number];
    struct path_clock *clock = path_clock_find(&path->clocks);
    uint64_t entry = 0;
    if (clock && QMPIX_Call_get_entry_time(call, &entry) == MPI_SUCCESS)
        path_clock_begin(&path->clocks, clock, word, entry, regions_are_on(&layer->regions));
    if (clock && role->event != PATH_NOTHING && !path->is_ended && !clock->busy) {
        clock->busy = true;
        before(path, clock, call, role);
        clock->busy = false;
    }
    if (!is_noted(layer, call))
        return;
    if (layer->options.depth == 1)
        observe_before(call, word);
    else
        observe_before_deep(call, word);
}

/* Waiting by sync=yes is noted apart, and before the call begins. */
static uint64_t begin_of(const struct layer *layer, const QMPIX_Call *call)
{
    uint64_t begin = 0;
    if (layer->options.sync && traits_all[call->function->number].waits)
        QMPIX_Call_get_time(call, &begin, NULL);
    else
        QMPIX_Call_get_entry_time(call, &begin);
    return begin;
}

void path_observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    struct path *path = layer->path;
    const struct path_role *role = &path_roles[call->function->number];
    struct path_clock *clock = path_clock_find(&path->clocks);
    if (clock && role->event != PATH_NOTHING && !path->is_ended && !clock->busy) {
        clock->busy = true;
        after(layer, clock, call, role);
        clock->busy = false;
    }
    const bool had_begun = regions_have_begun(&layer->regions);
    const uint64_t begin = begin_of(layer, call), end = ticks_now();
    if (clock)
        path_clock_end(&path->clocks, clock, word, end);
    observe_end(call, word, end > begin ? end - begin : 0);
    if (clock && !had_begun) /* application time may have begun just now */
        path_clock_restart(&path->clocks, clock, ticks_now());
}
