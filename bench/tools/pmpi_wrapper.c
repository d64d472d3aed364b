/* SPDX-License-Identifier: MIT */
/*
 * The simplest PMPI wrapper, with which layers are compared. Without qmpi, only one can be in use,
 * because it calls PMPI_Comm_rank, and not the next wrapper. With qmpi, there can be several, so it
 * is built under several names.
 */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}
