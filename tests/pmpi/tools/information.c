/* SPDX-License-Identifier: MIT */
/* A tool that uses the MPI tool information interface in MPI_Init, by names with MPI_ and PMPI_,
 * and wraps MPI_T_init_thread. */
#include "trace.h"

#include <mpi.h>

int MPI_T_init_thread(int required, int *provided)
{
    trace("%s MPI_T_init_thread", TOOL);
    return PMPI_T_init_thread(required, provided);
}

int MPI_Init(int *argc, char ***argv)
{
    int provided = -1, by_mpi = -1, by_pmpi = -2;
    trace("%s MPI_Init", TOOL);
    /* MPI must be initialized first: otherwise, repeated initialization of MPI_T fails in
     * MPICH 4.0. */
    const int result = PMPI_Init(argc, argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&by_mpi);
    PMPI_T_cvar_get_num(&by_pmpi);
    trace("%s finds control variables: %s", TOOL, by_mpi > 0 && by_mpi == by_pmpi ? "yes" : "no");
    return result;
}

int MPI_Finalize(void)
{
    PMPI_T_finalize();
    return PMPI_Finalize();
}
