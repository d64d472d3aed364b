/* SPDX-License-Identifier: MIT */
/* A tool whose constructor starts a thread that makes MPI calls, and waits for it. */
#include "trace.h"

#include <mpi.h>

#include <pthread.h>

static void *ask(void *unused)
{
    int initialized = -1, finalized = -1;
    PMPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    trace("%s thread: %d %d", TOOL, initialized, finalized);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, ask, NULL) == 0)
        pthread_join(thread, NULL);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank", TOOL);
    return PMPI_Comm_rank(comm, rank);
}
