/* SPDX-License-Identifier: MIT */
/* The ranks of processes in MPI_COMM_WORLD or, in a program that uses only sessions, in
 * mpi://WORLD. */
#ifndef QMPI_OBSERVE_WORLD_H
#define QMPI_OBSERVE_WORLD_H

#include <mpi.h>
#include <stdbool.h>

/* Sets `world` to the world ranks of `count` ranks of a group; MPI_UNDEFINED: not in the world.
 * Returns false, and changes nothing, if the world is not known. */
bool qmpi_world_translate(MPI_Group group, int count, const int *ranks, int *world);

/* Whether MPI can be queried about a communicator now. Outside MPI_Init and MPI_Finalize, any other
 * than the predefined ones can only be a session's. */
bool qmpi_world_may_hold(MPI_Comm comm);

#endif
