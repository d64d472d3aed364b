/* SPDX-License-Identifier: MIT */
/* A tool that needs a library, which the test does not let it find. */
#include <mpi.h>

int missing_answer(void);

int MPI_Barrier(MPI_Comm comm)
{
    return missing_answer() == 42 ? PMPI_Barrier(comm) : MPI_ERR_OTHER;
}
