/* SPDX-License-Identifier: MIT */
/*
 * The processes behind a communicator or a window: how many, which one is this, their ranks in
 * MPI_COMM_WORLD, and the neighbours in its topology. Found out once and kept with the handle as an
 * attribute of ours, which MPI deletes with it; a thread that asks about the same communicator
 * again finds the last answer in its own memory.
 */
#ifndef QMPI_OBSERVE_COMM_INFO_H
#define QMPI_OBSERVE_COMM_INFO_H

#include <mpi.h>
#include <stdbool.h>

struct qmpi_processes {
    int rank;      /* this process's in the local group */
    int local;     /* size of the local group */
    int peers;     /* size of the group that ranks in calls mean: the remote one, if there is one */
    bool is_inter; /* an intercommunicator */
    int *world;    /* [peers]: ranks in MPI_COMM_WORLD; MPI_UNDEFINED: not in it */
    int in, out;   /* neighbours; -1: no topology */
    int *sources;  /* [in]: MPI_PROC_NULL among them where the grid ends */
    int *destinations; /* [out] */
};

/* NULL: MPI does not say. The answer lives as long as the handle. */
const struct qmpi_processes *qmpi_processes_of_comm(MPI_Comm comm);
const struct qmpi_processes *qmpi_processes_of_window(MPI_Win window);

/* A rank's world rank; MPI_UNDEFINED for what is no rank of a process. */
int qmpi_processes_world(const struct qmpi_processes *processes, int rank);

#endif
