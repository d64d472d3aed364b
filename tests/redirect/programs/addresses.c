/* SPDX-License-Identifier: MIT */
/* Compares the addresses of MPI functions that the program and a library have, before and after
 * MPI_Init, and calls MPI through the addresses of both. */
#include <mpi.h>
#include <stdio.h>

typedef int init(int *argc, char ***argv);
typedef int barrier(MPI_Comm comm);

init *init_of_library(void);
barrier *barrier_of_library(void);

#ifdef LIBRARY
init *init_of_library(void)
{
    return MPI_Init;
}

barrier *barrier_of_library(void)
{
    return MPI_Barrier;
}
#else
static init *const volatile own_init = MPI_Init;
static barrier *const volatile own_barrier = MPI_Barrier;

static int are_same(void)
{
    return own_init == MPI_Init && own_init == init_of_library() && own_barrier == MPI_Barrier &&
           own_barrier == barrier_of_library();
}

int main(int argc, char **argv)
{
    const int before = are_same();
    init_of_library()(&argc, &argv);
    own_barrier(MPI_COMM_WORLD);
    barrier_of_library()(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("same before MPI_Init: %d, after: %d\n", before, are_same());
    return MPI_Finalize();
}
#endif
