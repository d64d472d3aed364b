/* SPDX-License-Identifier: MIT */
/* Passes calls on without QMPIX_NEXT: looks up its layer and the next function in each call. */
#include "announce.h"

#include <qmpi/qmpi.h>

static int look_up_Comm_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    int tool_id;
    void (*function)(void);
    QMPI_Context next;
    if (QMPIX_Context_get_tool_id(context, &tool_id) != MPI_SUCCESS ||
        QMPI_Get_function(tool_id, MPI_COMM_RANK_T, &function, &next) != MPI_SUCCESS)
        return MPI_ERR_INTERN;
    return ((QMPI_Comm_rank_t *)function)(next, comm, rank);
}

void bench_init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Comm_rank, look_up_Comm_rank);
}
