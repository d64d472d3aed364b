/* SPDX-License-Identifier: MIT */
/*
 * loop count CALLS…: makes one call of MPI_Comm_rank; then runs call_loop() once for each number
 * CALLS, with that many calls. count_steps or callgrind counts the instructions of these runs.
 *
 * loop time CALLS LOOPS: makes CALLS calls in each of LOOPS loops, and prints the nanoseconds per
 * call, as the median of the loops.
 *
 * loop is an ordinary MPI program, which runs as a singleton; the layers to be measured are
 * preloaded.
 */
#include "time_loops.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sum uses the results of the calls, so that the compiler does not remove them. */
__attribute__((noinline)) static int call_loop(long calls)
{
    int sum = 0;
    for (long i = 0; i < calls; i++) {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        sum += rank;
    }
    return sum; /* 0, the rank of a singleton; any other sum makes the program fail */
}

/* Checks the results once, because the loops do not. */
static int calls_work(void)
{
    int rank = -1;
    return MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0;
}

int main(int argc, char **argv)
{
    const long calls = argc > 2 ? atol(argv[2]) : 0;
    const long loops = argc > 3 ? atol(argv[3]) : 0;
    int status = 2;
    MPI_Init(&argc, &argv);
    if (!calls_work())
        fprintf(stderr, "loop: MPI_Comm_rank does not work here\n");
    else if (argc > 2 && !strcmp(argv[1], "count"))
        status = count_loops(call_loop, argc - 2, argv + 2);
    else if (argc == 4 && !strcmp(argv[1], "time") && calls > 0 && loops > 0)
        status = time_loops(call_loop, calls, loops);
    else
        fprintf(stderr, "usage: loop count CALLS... | loop time CALLS LOOPS\n");
    MPI_Finalize();
    return status;
}
