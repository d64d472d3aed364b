/* SPDX-License-Identifier: MIT */
/*
 * The plain PMPI wrapper: what a layer is measured against. Preloaded there can be only one;
 * under qmpi, several, so it is built under several names.
 */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}
