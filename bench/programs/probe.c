/* SPDX-License-Identifier: MIT */
/*
 * probe count CALLS…, probe time CALLS LOOPS: like loop, but calls MPI_Iprobe, for which bundled
 * tools do more than for MPI_Comm_rank. The calls find no message. With BENCH_STATUS, they pass a
 * status.
 */
#include "time_loops.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int call_loop(long calls)
{
    int sum = 0;
    for (long i = 0; i < calls; i++) {
        int flag = 0;
#if BENCH_STATUS
        MPI_Status status = {0};
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &status);
#else
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
#endif
        sum += flag;
    }
    return sum; /* 0, because no process sends a message */
}

int main(int argc, char **argv)
{
    const long calls = argc > 2 ? atol(argv[2]) : 0;
    const long loops = argc > 3 ? atol(argv[3]) : 0;
    int status = 2;
    MPI_Init(&argc, &argv);
    if (argc > 2 && !strcmp(argv[1], "count"))
        status = count_loops(call_loop, argc - 2, argv + 2);
    else if (argc == 4 && !strcmp(argv[1], "time") && calls > 0 && loops > 0)
        status = time_loops(call_loop, calls, loops);
    else
        fprintf(stderr, "usage: probe count CALLS... | probe time CALLS LOOPS\n");
    MPI_Finalize();
    return status;
}
