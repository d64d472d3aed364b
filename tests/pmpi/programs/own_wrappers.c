/* SPDX-License-Identifier: MIT */
/*
 * Wrappers that are part of the program. They do not tail-call the next function, so each of them
 * has a frame on the stack while the layers below run. The wrapper of MPI_Comm_rank makes another
 * MPI call, in a function of its own.
 */
#include <mpi.h>

#define EXPORTED __attribute__((visibility("default")))

static volatile int wrapped;

__attribute__((noinline)) static int ask_size(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    wrapped++;
    return result;
}

EXPORTED int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    const int result = PMPI_Comm_rank(comm, rank);
    wrapped += ask_size(comm);
    return result;
}

EXPORTED int MPI_Finalize(void)
{
    const int result = PMPI_Finalize();
    wrapped++;
    return result;
}
