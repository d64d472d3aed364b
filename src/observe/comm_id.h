/* SPDX-License-Identifier: MIT */
/*
 * The identities of communicators. No message is sent for them: whatever creates a communicator is
 * called by all its members, so each of them computes the same id from what all know. This is the
 * id of the parent, its members and
 *   - for calls that are collective over the parent: the number of such calls on it
 *   - for calls of the members alone: the tag, and the number of such calls with the same members.
 *
 * These numbers must be the same on all members. The calls are therefore counted at the end of the
 * chain, where layers that are switched off or call the next one several times make no difference:
 * the generated functions follow_X take the places of the terminators. What layers create by PMPI_X
 * is not counted on any of the members.
 */
#ifndef QMPI_OBSERVE_COMM_ID_H
#define QMPI_OBSERVE_COMM_ID_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether an observer has asked for identities (QMPIX_OBSERVE_COMMS). */
extern bool qmpi_comm_id_asked;

/* Called after successful calls. `created` may be MPI_COMM_NULL. */
/* Collective over the parent: copies, which may not be complete yet, and others. */
void qmpi_comm_id_note_copy(MPI_Comm parent, MPI_Comm created);
void qmpi_comm_id_note_part(MPI_Comm parent, MPI_Comm created);
/* Called by the members alone. `parent` is MPI_COMM_NULL if not all members pass the same one. */
void qmpi_comm_id_note_group(MPI_Comm parent, MPI_Comm created, uint64_t tag);

/* Returns a number that stands for a string tag. */
uint64_t qmpi_comm_id_of_text(const char *text);

#endif
