/* SPDX-License-Identifier: MIT */
/* A plugin whose constructor calls MPI_Initialized, like the constructors of some libraries. */
#include <mpi.h>

#include <stdlib.h>

void program_arrived(void);
void plugin_calls(int count);

__attribute__((constructor)) static void begin(void)
{
    int flag = -1;
    program_arrived();
    MPI_Initialized(&flag);
    if (flag != 0)
        abort();
}

void plugin_calls(int count)
{
    int rank;
    while (count--)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
