/* SPDX-License-Identifier: MIT */
/*
 * The simplest PMPI wrapper, with which layers are compared. Only one can be preloaded without
 * qmpi; with qmpi, there can be several, so it is built under several names.
 */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}
