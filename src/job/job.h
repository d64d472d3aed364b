/* SPDX-License-Identifier: MIT */
/*
 * The processes of the job. At the end of MPI_Init, or of an MPI_Comm_create_from_group that
 * creates a communicator of all processes, the processes that have libqmpi learn which layers the
 * others have. In MPI_Init, they also learn which problems prevent others from running. The ranks
 * may have different stacks, programs, nodes and errors. A layer communicates only among the
 * processes that have it.
 */
#ifndef QMPI_JOB_JOB_H
#define QMPI_JOB_JOB_H

#include "functions/functions.h"
#include "job/statement.h"

#include <mpi.h>
#include <stdbool.h>

/* Wraps the targets of the terminators of the functions that initialize and finalize MPI. Called
 * before any layer is added. `seconds` is the time limit in MPI_Init for each process that may not
 * have libqmpi, if the launcher does not provide this information. It is also the time after which
 * a message names the processes for which a layer waits. */
void qmpi_job_watch(qmpi_function **targets, double seconds);

/* The same for the functions by which a program with sessions creates a communicator of all
 * processes. Called after all others have wrapped them. */
void qmpi_job_watch_sessions(qmpi_function **targets);

/* Returns the ranks in MPI_COMM_WORLD, or in mpi://WORLD, that have the layer (0: the measurement
 * of the clocks), in ascending order. The array exists for the whole run. NULL: they are not known
 * yet, or this process does not have the layer. */
const int *qmpi_job_ranks(int tool_id, int *count);

/* Creates a communicator of the processes that have the layer, in the order of qmpi_job_ranks, with
 * MPI_ERRORS_RETURN. Collective over them. The communicator has no attributes of the program.
 * Returns an error class. */
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
