/* SPDX-License-Identifier: MIT */
/* The neighbours of this process in a communicator's topology, in the order of the standard. */
#ifndef QMPI_TOPOLOGY_H
#define QMPI_TOPOLOGY_H

#include "observe/comm_info.h"

/* Fills in, out, sources and destinations; in and out are -1 where there is no topology. */
void qmpi_topology_find(MPI_Comm comm, struct qmpi_processes *processes);

#endif
