/* SPDX-License-Identifier: MIT */
/* Communicators and windows: their processes, the ranks of these in the world, and the identities
 * of communicators (QMPIX_Comm_get_identity). */
#ifndef QMPI_OBSERVE_COMMS_H
#define QMPI_OBSERVE_COMMS_H

#include <mpi.h>
#include <qmpi/observer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The world ------------------------------------------------------------------------------- */

/* The ranks of processes in MPI_COMM_WORLD or, in a program that uses only sessions, in
 * mpi://WORLD. */

/* Sets `world` to the world ranks of `count` ranks of a group; MPI_UNDEFINED: not in the world.
 * Returns false, and changes nothing, if the world is not known. */
bool qmpi_comm_translate_ranks(MPI_Group group, int count, const int *ranks, int *world);

/* Whether MPI can be queried about a communicator now: before MPI_Init, only about communicators of
 * sessions, and after MPI_Finalize, about none. */
bool qmpi_comm_can_be_asked(MPI_Comm comm);

/* ---- Processes of communicators and windows -------------------------------------------------- */

/*
 * The processes of a communicator or a window: their number, the rank of this process, their ranks
 * in MPI_COMM_WORLD, and the neighbors in the topology. The information is determined once and
 * cached as an attribute, which MPI deletes with the communicator or window. Each thread also
 * caches the result of its last query about a communicator.
 */

struct qmpi_comm_processes {
    int rank;      /* of this process in the local group */
    int local;     /* size of the local group */
    int peers;     /* size of the group to which ranks in calls refer: the remote one, if any */
    bool is_inter; /* an intercommunicator */
    int *world;    /* [peers]: ranks in MPI_COMM_WORLD; MPI_UNDEFINED: not in it, or unknown. NULL:
                      memory is exhausted */
    int in, out;   /* numbers of neighbors; -1: no topology, or memory is exhausted */
    int *sources;  /* [in]; MPI_PROC_NULL at the borders of a grid */
    int *destinations; /* [out] */
};

/*
 * The first two functions return NULL if the processes cannot be determined. The result exists as
 * long as the communicator or window. `is_checked`: MPI has accepted the handle in a call that has
 * used it. Otherwise, MPI is queried only after the checks of handles.h. MPI is never queried about
 * a window that it has not accepted in a call; qmpi_comm_add_window determines the data after the
 * call that creates a window.
 */
const struct qmpi_comm_processes *qmpi_comm_processes_of(MPI_Comm comm, bool is_checked);
const struct qmpi_comm_processes *qmpi_comm_processes_of_window(MPI_Win window, bool is_checked);
void qmpi_comm_add_window(const QMPIX_Call *call);

/* Returns the world rank of a rank; MPI_UNDEFINED if it is not the rank of a process, or if its
 * world rank is unknown. */
int qmpi_comm_world_rank(const struct qmpi_comm_processes *processes, int rank);

/* ---- Identities ------------------------------------------------------------------------------ */

/*
 * The identities of communicators. They need no messages: all members call the function that
 * creates a communicator, and each of them computes the same id from data that all of them have.
 * These are the id of the parent, the members and
 *   - for calls that are collective over the parent: the number of such calls on the parent
 *   - for calls of the members alone: the tag, and the number of such calls with the same parent,
 *     members and tag.
 *
 * These numbers must be the same on all members. The calls are therefore counted at the end of the
 * chain, where it does not matter whether layers are switched off or call the next layer several
 * times: the generated functions follow_X replace the terminators. Communicators that layers create
 * by PMPI_X are not counted on any member.
 */

/* Whether an observer has asked for identities (QMPIX_OBSERVE_COMMS). */
extern bool qmpi_comm_id_asked;

/* These functions are called after successful calls. `created` may be MPI_COMM_NULL. */

/* For calls that are collective over the parent: the first function for copies, which may not be
 * complete yet, the second one for all others. */
void qmpi_comm_id_note_copy(MPI_Comm parent, MPI_Comm created);
void qmpi_comm_id_note_part(MPI_Comm parent, MPI_Comm created);

/* For calls by the members alone. `parent` is MPI_COMM_NULL if not all members pass the same
 * one. */
void qmpi_comm_id_note_group(MPI_Comm parent, MPI_Comm created, uint64_t tag);

/* Returns a number that represents a string tag. */
uint64_t qmpi_comm_id_of_text(const char *text);

#endif
