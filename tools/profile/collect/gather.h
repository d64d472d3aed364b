/* SPDX-License-Identifier: MIT */
/* Brings the results of all ranks together, by a tree of messages on a communicator of our own. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_GATHER_H
#define QMPI_TOOL_PROFILE_COLLECT_GATHER_H

#include "layer.h"

/* Collective over MPI_COMM_WORLD, before MPI_Finalize: rank 0 writes the result. */
void gather_world(struct layer *layer);

/* The same over a communicator of all processes, which it frees. */
void gather_on(struct layer *layer, MPI_Comm comm);

#endif
