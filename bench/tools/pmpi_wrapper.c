/* SPDX-License-Identifier: MIT */
/* What a QMPI layer is measured against: the plain PMPI wrapper. There can be only one. */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}
