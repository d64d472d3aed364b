/* SPDX-License-Identifier: MIT */
/*
 * The processes of the job: at the end of MPI_Init, or of an MPI_Comm_create_from_group that has
 * created a communicator of all processes, all that have libqmpi learn which layers the others
 * have, and in MPI_Init, which problems prevent others from running. Ranks may differ: in their
 * stacks, their programs, their nodes and the errors there. A layer communicates only among the
 * processes that have it.
 */
#ifndef QMPI_JOB_JOB_H
#define QMPI_JOB_JOB_H

#include "functions/functions.h"
#include "job/statement.h"

#include <mpi.h>
#include <stdbool.h>

/* Wraps the targets of the terminators of the functions that initialize and finalize MPI. Called
 * before any layer is added. `seconds`: the time limit in MPI_Init for each process that may not
 * have libqmpi, if the launcher does not provide this information, and the time after which a
 * message tells for which processes a layer waits. */
void qmpi_job_watch(qmpi_function **targets, double seconds);

/* The same for the functions by which a program with sessions creates a communicator of all
 * processes. Called after all others have wrapped them. */
void qmpi_job_watch_sessions(qmpi_function **targets);

/* Returns the ranks in MPI_COMM_WORLD, or in mpi://WORLD, in ascending order, that have the layer
 * (0: measure the clocks); they exist for the whole run. NULL: not known, before that, or because
 * this process does not have it. */
const int *qmpi_job_ranks(int tool_id, int *count);

/* Creates a communicator of these processes, in this order, whose errors return. Collective over
 * them; it has no attributes of the program. Returns an error class. */
int qmpi_job_create_comm(int tool_id, MPI_Comm *comm);

/* Layers create their communicators from a communicator of the job. It is freed at the beginning of
 * MPI_Finalize, or, after qmpi_job_keep_comm, by qmpi_job_free_comm, when MPI calls are still
 * possible. */
void qmpi_job_keep_comm(void);
void qmpi_job_free_comm(void);

/*
 * Finds out which layers of different processes are the same: those of the same tool with the same
 * options, in the same order. Processes may have different stacks.
 *
 * Numbers the layers of all stacks. `stacks` are NULL-terminated lists of identities. Returns
 * [stack][position]: numbers that ascend in each stack; layers with the same number are the same.
 * Thus processes that wait for each other in each layer never wait in a circle. Layers in another
 * order than in an earlier stack get other numbers. The caller frees the result and its elements.
 */
int **qmpi_job_number_layers(const char *const *const *stacks, int count);

#endif
