/* SPDX-License-Identifier: MIT */
/*
 * round_trip CALLS LOOPS: two ranks exchange 8 bytes by MPI_Send and MPI_Recv, CALLS times in each
 * of LOOPS loops. Rank 0 prints the nanoseconds per round trip, as the median of the loops.
 */
#include "time_loops.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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
    const long calls = argc == 3 ? atol(argv[1]) : 0;
    const long loops = argc == 3 ? atol(argv[2]) : 0;
    int status = 2, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (size == 2 && calls > 0 && loops > 0)
        status = rank == 0 ? time_loops(call_loop, calls, loops) : call_loop(calls * loops);
    else
        fprintf(stderr, "usage: mpiexec -n 2 round_trip CALLS LOOPS\n");
    MPI_Finalize();
    return status;
}
