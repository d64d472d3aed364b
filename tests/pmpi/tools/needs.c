/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool that needs a library. With COUNTS, the library counts and does not use MPI; with
 * CALLS, it makes MPI calls for the tool in MPI_Barrier.
 */
#include "trace.h"

#include <mpi.h>

#ifdef COUNTS
int next_number(void);
#else
#define next_number() 0
#endif
#ifdef CALLS
void make_calls(int count);
#endif

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank %d", TOOL, next_number());
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    trace("%s MPI_Barrier %d", TOOL, next_number());
#ifdef CALLS
    make_calls(2);
#endif
    return PMPI_Barrier(comm);
}
