/* SPDX-License-Identifier: MIT */
/* A PMPI tool between the application and the QMPI tools. */
#include <mpi.h>

int pmpi_barriers;

int MPI_Barrier(MPI_Comm comm)
{
    volatile int code;
    pmpi_barriers++;
    code = PMPI_Barrier(comm);
    return code;
}
