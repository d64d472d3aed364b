/* SPDX-License-Identifier: MIT */
/* A PMPI tool that searches performance variables by PMPI_T, as such tools do. */
#include <mpi.h>
#include <stdio.h>

int MPI_Init(int *argc, char ***argv)
{
    int provided, count = 0;
    const int result = PMPI_Init(argc, argv);
    PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    PMPI_T_pvar_get_num(&count);
    fprintf(stderr, "how_many: %s\n", count ? "variables" : "none");
    PMPI_T_finalize();
    return result;
}
