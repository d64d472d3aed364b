/* SPDX-License-Identifier: MIT */
/* What one layer with path=yes knows. */
#ifndef QMPI_TOOL_PROFILE_PATH_STATE_H
#define QMPI_TOOL_PROFILE_PATH_STATE_H

#include "layer.h"
#include "path/clock.h"
#include "path/comms.h"
#include "path/requests.h"
#include "path/roles.h"
#include "path/sends.h"
#include "path/streams.h"
#include "path/windows.h"
#include "toolkit/toolkit.h"

#include <pthread.h>
#include <stdbool.h>

/* A clock that was sent before a message that then was not sent: the next message of its stream has
 * one already. */
struct path_surplus {
    MPI_Comm shadow;
    int dest, tag;
    struct path_surplus *next;
};

struct path {
    struct path_clocks clocks;
    bool is_threaded;     /* several threads may call MPI at a time */
    bool is_ended;        /* MPI_Finalize */
    pthread_mutex_t lock; /* of what follows, if is_threaded */
    struct path_comms comms;
    struct path_requests requests;
    struct path_streams streams;
    struct path_windows windows;
    struct path_surplus *surplus;
};

static inline void path_lock(struct path *path)
{
    if (path->is_threaded)
        pthread_mutex_lock(&path->lock);
}

static inline void path_unlock(struct path *path)
{
    if (path->is_threaded)
        pthread_mutex_unlock(&path->lock);
}

static inline struct path_comm *path_find_comm(struct path *path, MPI_Comm comm)
{
    path_lock(path);
    struct path_comm *found = path_comm_find(&path->comms, comm);
    path_unlock(path);
    return found;
}

/* Whether a call has done what it does: either it succeeded, or it failed for a reason that lies in
 * what it received. */
static inline bool path_has_happened(const QMPIX_Call *call)
{
    return argument_result_is_success(call) || argument_error_class(call) == MPI_ERR_TRUNCATE;
}

#endif
