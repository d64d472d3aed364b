/* SPDX-License-Identifier: MIT */
/*
 * round_trip count CALLS…, round_trip time CALLS LOOPS: as loop does, with round trips of 8 bytes
 * by MPI_Send and MPI_Recv. With two ranks, rank 1 sends back what it receives, and rank 0
 * measures; alone, a rank sends to itself, so that all instructions are its own.
 */
#include "time_loops.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, other;

__attribute__((noinline)) static int call_loop(long calls)
{
    long long sent = 1, received = 1;
    for (long i = 0; i < calls; i++) {
        if (rank == 0)
            MPI_Send(&sent, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD);
        MPI_Recv(&received, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 0)
            MPI_Send(&received, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD);
    }
    return received != sent;
}

int main(int argc, char **argv)
{
    const long calls = argc > 2 ? atol(argv[2]) : 0;
    const long loops = argc > 3 ? atol(argv[3]) : 0;
    int status = 2, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = size == 1 ? 0 : 1 - rank;
    if (size == 1 && argc > 2 && !strcmp(argv[1], "count"))
        status = count_loops(call_loop, argc - 2, argv + 2);
    else if (size <= 2 && argc == 4 && !strcmp(argv[1], "time") && calls > 0 && loops > 0)
        status = rank == 0 ? time_loops(call_loop, calls, loops) : call_loop(calls * loops);
    else
        fprintf(stderr, "usage: round_trip count CALLS... | round_trip time CALLS LOOPS\n");
    MPI_Finalize();
    return status;
}
