/* SPDX-License-Identifier: MIT */
/* This merges the results of all ranks, by a tree of messages on a communicator that the program
 * does not use. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_GATHER_H
#define QMPI_TOOL_PROFILE_COLLECT_GATHER_H

#include "tools/profile/layer.h"

/* Merges the results of all processes, and writes the merged result on rank 0. This is collective
 * over MPI_COMM_WORLD, and must be called before MPI_Finalize runs. If it fails, the process
 * reports for itself when it exits. */
void gather_world(struct layer *layer);

/* Does the same over `comm`, a communicator of all processes, and frees it. */
void gather_on(struct layer *layer, MPI_Comm comm);

#endif
