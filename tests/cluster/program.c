/* SPDX-License-Identifier: MIT */
/*
 * A program for a job on several nodes: `program [STEP...]`. The step `ring` sends 100 messages
 * from each rank to the next one, `sleep=N` makes no MPI calls for N seconds, and after `ignore`,
 * SIGTERM is ignored. Rank 0 prints `rank 0 of SIZE` at the end.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ring(int rank, int size)
{
    int sent = rank, received = -1;
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "ring"))
            ring(rank, size);
        else if (!strncmp(argv[i], "sleep=", 6))
            sleep((unsigned)atoi(argv[i] + 6));
        else if (!strcmp(argv[i], "ignore"))
            signal(SIGTERM, SIG_IGN);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("rank 0 of %d\n", size);
    return 0;
}
