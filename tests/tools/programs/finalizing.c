/* SPDX-License-Identifier: MIT */
/*
 * A program whose library calls MPI_Finalize in a destructor, as the static objects of frameworks
 * do. The loader calls it after those of libraries that were loaded later, such as tools. With
 * LIBRARY, it is that library.
 */
#include <mpi.h>

__attribute__((visibility("default"))) void begin_mpi(void);

#ifdef LIBRARY
void begin_mpi(void)
{
    MPI_Init(0, 0);
}

__attribute__((destructor)) static void end_mpi(void)
{
    MPI_Finalize();
}
#else
int main(void)
{
    begin_mpi();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
#endif
