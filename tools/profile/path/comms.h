/* SPDX-License-Identifier: MIT */
/*
 * The communicators on which clocks are sent: for each communicator of the program a *shadow* of
 * the same processes, made when that is created, which is collective over them. Communicators of
 * one process need none. Those with processes outside MPI_COMM_WORLD (mpi://WORLD) have none, since
 * these processes may not be profiled: their messages carry no clock.
 */
#ifndef QMPI_TOOL_PROFILE_PATH_COMMS_H
#define QMPI_TOOL_PROFILE_PATH_COMMS_H

#include "record/numbering.h"
#include "toolkit/toolkit.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

struct path_request;

struct path_comm {
    MPI_Comm shadow, neighbors; /* `neighbors`: with the topology; MPI_COMM_NULL: none */
    int neighbor_count;         /* from which it receives */
    bool is_inter, is_freed;
    int users;       /* receives and windows that still need it once it is freed */
    uint64_t serial; /* grows with each creation */
    struct path_request *wild, *last_wild; /* posted receives from any source or of any tag */
};

struct path_comms {
    struct handles handles;
    struct numbering numbers; /* of struct path_comm; NULL: unused */
    uint64_t created;
};

/* The shadow of a communicator; NULL: it has none. */
static inline struct path_comm *path_comm_find(const struct path_comms *comms, MPI_Comm comm)
{
    const int number = handles_find(&comms->handles, HANDLE_WORD(comm));
    return number < 0 ? NULL : comms->numbers.objects[number];
}

/* Makes the shadow of a new communicator. Collective over it. `world`: see above;
 * MPI_GROUP_NULL: it is MPI_COMM_WORLD. Returns MPI_COMM_NULL if it needs none, or on failure. */
MPI_Comm path_comm_make_shadow(MPI_Comm comm, MPI_Group world);

/* From now on, `comm` has this shadow. Under the lock. */
void path_comm_add(struct path_comms *comms, MPI_Comm comm, MPI_Comm shadow, MPI_Comm neighbors,
                   int neighbor_count);

/* The communicator is being freed: its handle may be that of another one soon. Under the lock. */
void path_comm_remove(struct path_comms *comms, MPI_Comm comm);

/* One user less. Under the lock. */
void path_comm_release(struct path_comm *comm);

/* MPI_Finalize: frees all. */
void path_comms_end(struct path_comms *comms);

#endif
