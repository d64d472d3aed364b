/* SPDX-License-Identifier: MIT */
/*
 * The processes of the job. At the end of MPI_Init, or of an MPI_Comm_create_from_group that
 * creates a communicator of all processes, the processes that have libqmpi learn which layers the
 * others have. In MPI_Init, they also learn which problems the others have, and whether all
 * others can run. The ranks may have different stacks, programs, nodes and errors. A layer
 * communicates only among the processes that have it.
 */
#ifndef QMPI_JOB_JOB_H
#define QMPI_JOB_JOB_H

#include "functions/functions.h"
#include "job/statement.h"

#include <mpi.h>
#include <stdbool.h>

/* Wraps the functions in `targets` (qmpi_terminator_targets) that initialize and finalize MPI or
 * open a session. Called before any layer is added. `has_others` is the result of
 * qmpi_launcher_has_others; if it is false, the layers are known only if MPI_COMM_WORLD has one
 * process. `seconds` determines how long MPI_Init and
 * MPI_Comm_create_from_group wait for a process if the launcher does not tell whether that process
 * has libqmpi (see qmpi_statements_exchange). It is also the time after which a message names the
 * processes for which a layer waits. */
void qmpi_job_watch(qmpi_function **targets, bool has_others, double seconds);

/* Wraps MPI_Comm_create_from_group, which may create a communicator of all processes from a
 * session, and MPI_Session_finalize. Called when all other wrappers of these functions are in
 * `targets`, so that the wrappers that this call adds are called first. */
void qmpi_job_watch_sessions(qmpi_function **targets);

/* Returns the ranks in MPI_COMM_WORLD, or in mpi://WORLD, that have layer `tool_id` (0: the
 * measurement of the clocks), in ascending order. The array exists for the whole run. NULL: the
 * ranks are not known yet, or this process does not have the layer. */
const int *qmpi_job_ranks(int tool_id, int *count);

/* Waits until all processes that have the layer have called this (qmpi_arrivals_await). Returns
 * MPI_SUCCESS; MPI_ERR_RANK if one of them has terminated; or MPI_ERR_OTHER. If the processes are
 * not known, returns MPI_SUCCESS at once. */
int qmpi_job_await(int tool_id);

/* Creates a communicator of the processes that have the layer, in the order of qmpi_job_ranks (of
 * all processes if the ranks are not known), with MPI_ERRORS_RETURN. Collective over its processes,
 * for which it waits (qmpi_job_await). The communicator has no attributes of the program. Returns
 * an error class; MPI_ERR_RANK: one of the processes has terminated. */
int qmpi_job_create_comm(int tool_id, MPI_Comm *comm);

/* qmpi_job_create_comm derives the communicators of layers from a communicator of the job, which is
 * freed just before the MPI library finalizes or, if qmpi_job_keep_comm has been called, by
 * qmpi_job_free_comm, which must be called while MPI calls are still possible. */
void qmpi_job_keep_comm(void);
void qmpi_job_free_comm(void);

/*
 * Finds out which layers of different processes are the same: those of the same tool with the same
 * options, in the same order. Processes may have different stacks.
 *
 * Numbers the layers of all stacks. `stacks` are NULL-terminated lists of identities. Returns
 * [stack][position]: numbers that ascend in each stack; layers with the same number are the same.
 * Thus processes that wait for each other in each layer never wait in a circle. If two stacks have
 * the same layers in different orders, some of these layers get different numbers in the two
 * stacks. The caller frees the result and its elements.
 */
int **qmpi_job_number_layers(const char *const *const *stacks, int count);

#endif
