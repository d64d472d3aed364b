/* SPDX-License-Identifier: MIT */
/* An application that is linked with MPI and may call it, but does not do so in this run. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        MPI_Init(NULL, NULL);
    puts("done without MPI");
    return 0;
}
