/* SPDX-License-Identifier: MIT */
/* A tool of MPICH's variant that looks up the next function in each call. */
#include "announce.h"

#include <mpi.h>

static int look_up_Comm_rank(QMPI_Context context, int tool_id, MPI_Comm comm, int *rank)
{
    void (*function)(void);
    int next;
    if (QMPI_Get_function(tool_id, MPI_COMM_RANK_T, &function, &next) != MPI_SUCCESS)
        return MPI_ERR_INTERN;
    return ((QMPI_Comm_rank_t *)function)(context, next, comm, rank);
}

void bench_init(int tool_id)
{
    QMPI_Register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))look_up_Comm_rank);
}
