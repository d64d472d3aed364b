/* SPDX-License-Identifier: MIT */
/* This merges the results of the ranks that have the layer, by a tree of messages on a communicator
 * that the program does not use. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_GATHER_H
#define QMPI_TOOL_PROFILE_COLLECT_GATHER_H

#include "tools/profile/layer.h"

/* Merges the results of the processes of MPI_COMM_WORLD that have the layer. The first of them, the
 * one with the lowest rank, writes the merged result. All of them must call this before
 * MPI_Finalize runs. If an MPI call fails in a process, this process writes its own result when it
 * exits. While the processes wait for each other, the thread that writes checkpoints (save.h) runs
 * on. Afterwards, it does not run. */
void gather_world(struct layer *layer);

/* Does the same for the processes of `comm`, all of which have the layer, and frees `comm`. */
void gather_on(struct layer *layer, MPI_Comm comm);

#endif
