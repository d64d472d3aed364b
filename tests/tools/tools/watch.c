/* SPDX-License-Identifier: MIT */
/*
 * Measures how long each call takes in the layers below. In MPI_Finalize, prints for each function
 * that was called before, in seconds: the sum of the durations, the shortest duration, and the
 * times at which the first call began and the last one ended, on a clock that all processes of a
 * node share. The durations are upper limits for those that a layer below measures. For programs
 * with one thread.
 */
#define _GNU_SOURCE
#include <qmpi/observer.h>

#include <stdio.h>
#include <time.h>

static struct times {
    const char *name;
    double sum, shortest, begin, end;
} times[MPI_LAST_FUNC];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void note(void)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MPI_LAST_FUNC; i++)
        if (times[i].name)
            dprintf(2, "trace: watch %d %s %.9f %.9f %.9f %.9f\n", rank, times[i].name,
                    times[i].sum, times[i].shortest, times[i].begin, times[i].end);
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    if (call->function->number == MPI_FINALIZE_T)
        note();
    word->real = now();
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct times *const its = &times[call->function->number];
    const double end = now(), taken = end - word->real;
    if (!its->name)
        its->begin = word->real;
    if (!its->name || taken < its->shortest)
        its->shortest = taken;
    its->name = call->function->name;
    its->sum += taken;
    its->end = end;
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("watch", init);
}
