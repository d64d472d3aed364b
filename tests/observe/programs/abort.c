/* SPDX-License-Identifier: MIT */
/* Calls MPI_Init and MPI_Abort. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Abort(MPI_COMM_WORLD, 5);
    return 0;
}
