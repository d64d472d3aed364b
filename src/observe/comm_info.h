/* SPDX-License-Identifier: MIT */
/*
 * The processes of a communicator or a window: their number, the rank of this process, their ranks
 * in MPI_COMM_WORLD, and the neighbors in the topology. The information is determined once and
 * cached as an attribute of the handle, which MPI deletes with it. Each thread also caches the
 * result of its last query.
 */
#ifndef QMPI_OBSERVE_COMM_INFO_H
#define QMPI_OBSERVE_COMM_INFO_H

#include <mpi.h>
#include <stdbool.h>

struct qmpi_processes {
    int rank;          /* this process's in the local group */
    int local;         /* size of the local group */
    int peers;         /* size of the group to which ranks in calls refer: the remote one, if any */
    bool is_inter;     /* an intercommunicator */
    int *world;        /* [peers]: ranks in MPI_COMM_WORLD; MPI_UNDEFINED: not in it */
    int in, out;       /* neighbors; -1: no topology */
    int *sources;      /* [in]: MPI_PROC_NULL among them where the grid ends */
    int *destinations; /* [out] */
};

/* Returns NULL if a query of MPI fails. The result exists as long as the handle. */
const struct qmpi_processes *qmpi_processes_of_comm(MPI_Comm comm);
const struct qmpi_processes *qmpi_processes_of_window(MPI_Win window);

/* Returns the world rank of a rank; MPI_UNDEFINED if it is not the rank of a process. */
int qmpi_processes_world(const struct qmpi_processes *processes, int rank);

#endif
