/* SPDX-License-Identifier: MIT */
/*
 * The program of `bench/run --ranks`. It makes few calls, but each rank sends to all others, so
 * that a tool that records communication partners has the maximum to combine at the end: ranks x
 * (ranks - 1) pairs. The argument is the number of repetitions.
 */
#include <mpi.h>

#include <stdlib.h>

static void around(int rank, int ranks)
{
    int out = rank, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 1, &in, 1, MPI_INT,
                 (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void to_everybody(int rank, int ranks, int *in, MPI_Request *requests)
{
    int open = 0;
    for (int other = 0; other < ranks; other++) {
        if (other != rank)
            MPI_Irecv(&in[other], 1, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[open++]);
    }
    for (int other = 0; other < ranks; other++) {
        if (other != rank)
            MPI_Isend(&rank, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[open++]);
    }
    /* Calls MPI_Wait for each request, not MPI_Waitall, because GCC takes MPICH's
     * MPI_STATUSES_IGNORE for an array without room, and warns. */
    for (int i = 0; i < open; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, ranks, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *in = calloc((size_t)ranks, sizeof *in);
    MPI_Request *requests = calloc((size_t)ranks * 2, sizeof *requests);
    if (argc != 2 || !in || !requests)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int times = atoi(argv[1]); times > 0; times--) {
        around(rank, ranks);
        to_everybody(rank, ranks, in, requests);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    free(requests);
    free(in);
    MPI_Finalize();
    return 0;
}
