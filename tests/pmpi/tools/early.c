/* SPDX-License-Identifier: MIT */
/*
 * A tool whose constructor calls MPI. If the tool is preloaded, its references are not redirected
 * yet when the constructor runs, but its calls must reach the same layers as those of a tool that
 * is not preloaded. The constructor calls PMPI_Initialized; MPI_Initialized, which the tool wraps
 * only with WRAPS_IT; and MPI_Finalized, which the tool does not wrap.
 */
#include "trace.h"

#include <mpi.h>

#ifdef WRAPS_IT
int MPI_Initialized(int *flag)
{
    trace("%s MPI_Initialized", TOOL);
    return PMPI_Initialized(flag);
}
#endif

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank", TOOL);
    return PMPI_Comm_rank(comm, rank);
}

__attribute__((constructor)) static void begin(void)
{
    int by_pmpi = -1, by_mpi = -1, finalized = -1;
    trace("%s constructor begins", TOOL);
    PMPI_Initialized(&by_pmpi);
    trace("%s by MPI", TOOL);
    MPI_Initialized(&by_mpi);
    MPI_Finalized(&finalized);
    trace("%s constructor ends: %d %d %d", TOOL, by_pmpi, by_mpi, finalized);
}
