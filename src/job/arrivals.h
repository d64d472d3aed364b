/* SPDX-License-Identifier: MIT */
/*
 * How the processes of a layer wait for each other before they communicate. The first of them
 * decides whether all have arrived, so that either all of them communicate, or none.
 *
 * A process that has terminated never arrives. Launchers usually end the job then, but some can be
 * told not to. The other processes of its host notice it, and one of them tells those of other
 * hosts that need to know. There is no time limit: as long as no process is known to have
 * terminated, the others wait.
 */
#ifndef QMPI_JOB_ARRIVALS_H
#define QMPI_JOB_ARRIVALS_H

#include <mpi.h>
#include <stdbool.h>

/* The processes that have a layer. */
struct qmpi_arrivals {
    int *places; /* their ranks in the communicator of the job, in ascending order */
    int count;
    int tag;               /* of the messages; different for each layer */
    MPI_Request *requests; /* in the first process: receives of the messages of the others */
    bool *told;            /* which of them are known in the other hosts to have terminated */
};

/* Prepares waiting on `comm`, which contains all processes of the job that take part. Collective
 * over them. `ranks` are their ranks in MPI_COMM_WORLD; the array must exist until
 * qmpi_arrivals_stop, which is called before `comm` is freed. */
void qmpi_arrivals_start(MPI_Comm comm, const int *ranks, int count);
void qmpi_arrivals_stop(void);

/* Sets all members from `places` and `count`. Called early, because in MPI_Finalize, the program
 * may have used up its memory. */
void qmpi_arrivals_prepare(struct qmpi_arrivals *layer, int tag);

/*
 * Waits until all processes of the layer have called this. Collective over them. Returns in all
 * that have not terminated:
 *
 * MPI_SUCCESS: all have called this
 * MPI_ERR_RANK: at least one has terminated. A message names it, unless an earlier one did.
 * MPI_ERR_OTHER: an MPI call has failed
 *
 * Calls `report` once, in the first process, if the others have not arrived after `patience`
 * seconds.
 */
int qmpi_arrivals_await(struct qmpi_arrivals *layer, double patience, void (*report)(void *data),
                        void *data);

#endif
