/* SPDX-License-Identifier: MIT */
/* A PMPI tool that, like many such tools, calls functions of MPI_T in MPI_Init to look for
 * performance variables. Prints whether there are any. */
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
