/* SPDX-License-Identifier: MIT */
/*
 * places count CALLS…: like `loop count`, but each iteration of call_loop() makes four calls of
 * MPI_Comm_rank, at two places A and B. Their order is A B A B, so that each place is always
 * reached from the other one. With BENCH_TURNS, the order is A A B B, so that each place is
 * reached from itself and from the other one in turn.
 */
#include "time_loops.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static int ask_here(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

__attribute__((noinline)) static int ask_there(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 2 * rank; /* The two functions must differ, or compilers merge them. */
}

__attribute__((noinline)) static int call_loop(long calls)
{
    int sum = 0;
    for (long i = 0; i < calls; i++) {
#ifdef BENCH_TURNS
        sum += ask_here();
        sum += ask_here();
        sum += ask_there();
        sum += ask_there();
#else
        sum += ask_here();
        sum += ask_there();
        sum += ask_here();
        sum += ask_there();
#endif
    }
    return sum; /* 0, the rank of a singleton; any other sum makes the program fail */
}

int main(int argc, char **argv)
{
    int status = 2;
    MPI_Init(&argc, &argv);
    if (argc > 2 && !strcmp(argv[1], "count"))
        status = count_loops(call_loop, argc - 2, argv + 2);
    else
        fprintf(stderr, "usage: places count CALLS...\n");
    MPI_Finalize();
    return status;
}
