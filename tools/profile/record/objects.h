/* SPDX-License-Identifier: MIT */
/*
 * The communicators and files of a layer. Each has a number, under which each thread counts the
 * calls on it. Functions that get a struct layer * take the layer's lock, unless they say
 * otherwise; the others take none.
 *
 * When a communicator is freed, its figures are added to those of all freed communicators with the
 * same name and processes, and its number is reused. The required memory therefore depends only on
 * the number of live communicators, and of different names and sets of processes. The number of a
 * file belongs to the name under which it was opened.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_OBJECTS_H
#define QMPI_TOOL_PROFILE_RECORD_OBJECTS_H

#include "tools/profile/layer.h"

#include <qmpi/qmpi.h>

/* Prepares a new layer. Takes no lock. Returns false if memory is exhausted. */
bool objects_make(struct layer *layer);

/* Stores the rank of this process, and the group of all processes, by which ranks are translated.
 * Call this after MPI_Init (`session` is MPI_SESSION_NULL), after the first session was opened, and
 * in MPI_Finalize if a session outlives it. objects_end releases what this acquires. */
void objects_begin(struct layer *layer, MPI_Session session);

/* Releases the group of all processes, in MPI_Finalize and at the end of the last session. With
 * `reads_names`, first reads the names of live communicators again, because calls of
 * PMPI_Comm_set_name are not seen. */
void objects_end(struct layer *layer, bool reads_names);

/* ---- Communicators --------------------------------------------------------------------------- */

/* Returns the number of a communicator, and assigns one if it has none. `comm` must be valid: a
 * call on it has just succeeded. Returns -1 for MPI_COMM_NULL, or if memory is exhausted, which is
 * reported. */
int objects_meet_comm(struct layer *layer, MPI_Comm comm);

/* Returns the number of a communicator, or -1 if it has none yet. */
static inline int objects_find_comm(const struct layer_comms *comms, MPI_Comm comm)
{
    return handles_find(&comms->handles, HANDLE_WORD(comm));
}

/* Records the name that MPI_Comm_set_name has set. */
void objects_rename_comm(struct layer *layer, MPI_Comm comm, const char *name);

/* Call these before and after MPI_Comm_free or MPI_Comm_disconnect. The first one reads the name,
 * forgets the handle, which MPI may reuse at once, and returns the number of the communicator, or
 * -1 if it is unknown. Call the second one, with this number, only if the MPI call succeeded. */
int objects_begin_free(struct layer *layer, MPI_Comm comm);
void objects_free(struct layer *layer, int number);

/* Sums up the calls that have ended on all communicators, live and freed. Communicators with the
 * same name and processes become one row of `sums`, of type struct layer_comm_sum. The caller holds
 * the layer's lock, and frees the table. Returns false if memory is exhausted. */
bool objects_sum_comms(const struct layer *layer, struct table *sums);

/* Adds the figures of a call in progress to the row of the communicator with this handle. Does
 * nothing if there is no such communicator. The caller holds the layer's lock. Returns false if
 * memory is exhausted. */
bool objects_add_to_comm(const struct layer *layer, struct table *sums, uint64_t handle,
                         const struct thread_stats *stats);

/* Returns the communicator with this handle, or NULL if it is unknown. The caller holds the layer's
 * lock. */
const struct layer_comm *objects_comm_of(const struct layer *layer, uint64_t handle);

/* ---- Files ----------------------------------------------------------------------------------- */

/* Records a file that MPI_File_open has opened. `counted` tells whether the call is counted. */
void objects_open_file(struct layer *layer, MPI_File handle, const char *name, bool counted);

/* Returns the number of an open file, or -1 if it is unknown. */
static inline int objects_find_file(const struct layer_files *files, MPI_File file)
{
    return handles_find(&files->handles, HANDLE_WORD(file));
}

/* Forgets a handle that MPI_File_close is about to free. Returns the number of the file, or -1 if
 * it is unknown. */
int objects_begin_close(struct layer *layer, MPI_File file);

/* Adds the figures that all threads have for the file with this number. Takes no lock. */
void objects_sum_file(const struct layer *layer, int number, struct thread_stats *sum);

#endif
