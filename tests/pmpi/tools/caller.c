/* SPDX-License-Identifier: MIT */
/* A library that makes MPI calls for its caller, which is a tool or the program. CALL is
 * MPI_Comm_rank or PMPI_Comm_rank. */
#include <mpi.h>

void make_calls(int count);
void make_calls(int count)
{
    int rank;
    for (int i = 0; i < count; i++)
        CALL(MPI_COMM_WORLD, &rank);
}
