/* SPDX-License-Identifier: MIT */
/*
 * A tool of MPICH's variant that looks up the next function once, as MPICH recommends. With
 * BENCH_LISTED_ONCE, it stores the next function of only one layer, and not by tool_id, so that a
 * stack can list it only once.
 */
#include "announce.h"

#include <mpi.h>

static struct next {
    void (*function)(void);
    int tool_id;
} nexts[256];

#ifdef BENCH_LISTED_ONCE
enum { BY_TOOL_ID = 0 };
#else
enum { BY_TOOL_ID = 1 };
#endif

static int cached_Comm_rank(QMPI_Context context, int tool_id, MPI_Comm comm, int *rank)
{
    const struct next *next = &nexts[tool_id * BY_TOOL_ID];
    return ((QMPI_Comm_rank_t *)next->function)(context, next->tool_id, comm, rank);
}

void bench_init(int tool_id)
{
    struct next *next = &nexts[tool_id * BY_TOOL_ID];
    QMPI_Get_function(tool_id, MPI_COMM_RANK_T, &next->function, &next->tool_id);
    QMPI_Register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))cached_Comm_rank);
}
