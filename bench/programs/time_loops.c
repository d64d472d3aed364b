/* SPDX-License-Identifier: MIT */
/* See time_loops.h. */
#define _POSIX_C_SOURCE 200809L
#include "time_loops.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int time_loops(int (*loop)(long calls), long calls, long loops)
{
    double *times = malloc((size_t)loops * sizeof *times);
    int sum = 0;
    if (!times)
        return 1;
    for (long i = 0; i < loops; i++) {
        const double start = seconds();
        sum += loop(calls);
        times[i] = seconds() - start;
    }
    qsort(times, (size_t)loops, sizeof *times, compare);
    printf("%.4f\n", 1e9 * times[loops / 2] / (double)calls);
    free(times);
    return sum != 0;
}

int count_loops(int (*loop)(long calls), int count, char *const *calls)
{
    int sum = 0;
    /* `volatile` keeps the compiler from unrolling this loop, so that all calls of `loop` have the
     * same return address, and a tool that records callers sees no new one in the counted runs. */
    for (volatile int i = -1; i < count; i++) {
        const long number = i < 0 ? 1 : atol(calls[i]);
        if (number <= 0)
            return 1;
        if (i >= 0)
            raise(SIGURG); /* this signal is ignored by default */
        sum += loop(number);
        if (i >= 0)
            raise(SIGURG);
    }
    return sum != 0;
}
