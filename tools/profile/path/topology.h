/* SPDX-License-Identifier: MIT */
/* Gives a shadow the topology of its communicator, for neighborhood collectives. */
#ifndef QMPI_TOOL_PROFILE_PATH_TOPOLOGY_H
#define QMPI_TOOL_PROFILE_PATH_TOPOLOGY_H

#include <qmpi/qmpi.h>

/* Returns a communicator of the same ranks with the topology of `comm`, and from how many neighbors
 * it receives; MPI_COMM_NULL: `comm` has no topology, or a failure. Collective over the shadow. */
MPI_Comm path_topology_copy(MPI_Comm comm, MPI_Comm shadow, int *neighbor_count);

#endif
