/* SPDX-License-Identifier: MIT */
/*
 * Measures what the layers between two layers of this tool do in MPI_Finalize:
 * `finalize:profile:finalize`. The upper layer waits for all ranks and records the time. When the
 * call reaches the lower layer, the layers between the two have done their work. The time of MPI's
 * own finalization is not included. Rank 0 prints one line: the seconds that this work took in the
 * slowest rank, the seconds of a small MPI_Comm_split and MPI_Reduce for comparison, and the peak
 * memory of the processes before and after the work, in bytes.
 */
#define _GNU_SOURCE
#include "announce.h"

#include <qmpi/qmpi.h>

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static int upper; /* the tool_id of the upper layer, which is initialized last */
static double begin, plain, memory_before;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss * 1024;
}

/* The minimum for combining results: a communicator, and one way up a tree. */
static void gather_nothing(void)
{
    MPI_Comm comm;
    int one = 1, sum = 0;
    PMPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    PMPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
    PMPI_Comm_free(&comm);
}

static void start(void)
{
    memory_before = peak_memory();
    PMPI_Barrier(MPI_COMM_WORLD);
    const double plain_begin = now();
    gather_nothing();
    plain = now() - plain_begin;
    PMPI_Barrier(MPI_COMM_WORLD);
    begin = now();
}

static void tell(void)
{
    const double passed = now() - begin, memory = peak_memory();
    int rank, ranks;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double mine[4] = {passed, plain, memory, memory_before};
    double most[4], all[4];
    PMPI_Reduce(mine, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Reduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"ranks\":%d,\"seconds\":%.9f,\"seconds_plain\":%.9f,\"memory\":{\"mean\":%.0f,"
               "\"max\":%.0f,\"rank_0\":%.0f},\"memory_before\":{\"mean\":%.0f,\"max\":%.0f,"
               "\"rank_0\":%.0f}}\n",
               ranks, most[0], most[1], all[2] / ranks, most[2], mine[2], all[3] / ranks, most[3],
               mine[3]);
    fflush(stdout);
}

static int finalize(QMPI_Context context)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(context, &tool_id);
    if (tool_id == upper)
        start();
    else
        tell();
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

void bench_init(int tool_id)
{
    upper = tool_id;
    QMPIX_REGISTER(tool_id, Finalize, finalize);
}
