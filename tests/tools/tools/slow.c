/* SPDX-License-Identifier: MIT */
/*
 * A layer in which MPI_Send, MPI_Bcast and MPI_Barrier take some milliseconds longer (option ms=,
 * 10 by default). In MPI_Finalize, it prints the sum of these times in seconds.
 */
#define _GNU_SOURCE
#include <qmpi/qmpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int milliseconds;
static long spent; /* in nanoseconds */

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

/* Waits in a loop, because a sleep may end late. */
static void delay(void)
{
    const long begin = now();
    long passed;
    do
        passed = now() - begin;
    while (passed < milliseconds * 1000000L);
    spent += passed;
}

static int slow_Send(QMPI_Context context, const void *buffer, int count, MPI_Datatype type,
                     int dest, int tag, MPI_Comm comm)
{
    delay();
    return QMPIX_NEXT(context, Send)(QMPIX_NEXT_CONTEXT(context), buffer, count, type, dest, tag,
                                     comm);
}

static int slow_Bcast(QMPI_Context context, void *buffer, int count, MPI_Datatype type, int root,
                      MPI_Comm comm)
{
    delay();
    return QMPIX_NEXT(context, Bcast)(QMPIX_NEXT_CONTEXT(context), buffer, count, type, root, comm);
}

static int slow_Barrier(QMPI_Context context, MPI_Comm comm)
{
    delay();
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static int slow_Finalize(QMPI_Context context)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dprintf(2, "trace: slow %d %.9f\n", rank, (double)spent * 1e-9);
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

static void init(int tool_id)
{
    const char *value = "10";
    QMPIX_Tool_get_option(tool_id, "ms", &value);
    milliseconds = atoi(value);
    QMPI_Register_tool_function(tool_id, MPI_SEND_T, (void (*)(void))slow_Send);
    QMPI_Register_tool_function(tool_id, MPI_BCAST_T, (void (*)(void))slow_Bcast);
    QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))slow_Barrier);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))slow_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("slow", init);
}
