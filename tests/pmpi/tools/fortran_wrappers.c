/* SPDX-License-Identifier: MIT */
/* A tool with wrappers of both the C functions and the Fortran procedures, like mpiP and dumpi. */
#include "fortran_handles.h"
#include "trace.h"

#include <mpi.h>

static int calls;

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank %d", TOOL, ++calls);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    trace("%s MPI_Barrier %d", TOOL, ++calls);
    return PMPI_Barrier(comm);
}

void mpi_comm_rank_(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *error);
void mpi_comm_rank_(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *error)
{
    int number = -1;
    trace("%s mpi_comm_rank_ %d", TOOL, ++calls);
    *error = PMPI_Comm_rank(MPI_Comm_f2c(*comm), &number);
    *rank = number;
}

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error);
void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error)
{
    trace("%s mpi_barrier_ %d", TOOL, ++calls);
    *error = PMPI_Barrier(MPI_Comm_f2c(*comm));
}
