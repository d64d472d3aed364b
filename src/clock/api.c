/* SPDX-License-Identifier: MIT */
/* What <qmpi/clock.h> tells of the clock of this process. */
#define _GNU_SOURCE
#include "clock/reading.h"

#include <qmpi/clock.h>

#include <time.h>

int QMPIX_Clock_get_time(uint64_t *ticks)
{
    if (!ticks)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    *ticks = qmpi_clock_now();
    return MPI_SUCCESS;
}

int QMPIX_Clock_to_nanoseconds(uint64_t ticks, uint64_t *nanoseconds)
{
    if (!nanoseconds)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    *nanoseconds = qmpi_clock_nanoseconds(ticks);
    return MPI_SUCCESS;
}

static double resolution(double tick)
{
    struct timespec time = {0, 0};
    if (qmpi_clock_is_counter)
        return tick;
    clock_getres(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Returns the ticks that a reading takes, of several tries the one that was interrupted least. */
static double cost(void)
{
    enum { TRIES = 5, READINGS = 100 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t begin = qmpi_clock_now();
        uint64_t end = begin;
        for (int k = 0; k < READINGS; k++)
            end = qmpi_clock_now();
        if (end - begin < least)
            least = end - begin;
    }
    return (double)least / READINGS;
}

int QMPIX_Clock_get_info(QMPIX_Clock_info *info)
{
    if (!info || info->size < sizeof *info)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    const struct qmpi_clock_tick tick = qmpi_clock_refine();
    info->name = qmpi_clock_is_counter ? "tsc" : "monotonic";
    info->tick = tick.nanoseconds;
    info->resolution = resolution(tick.nanoseconds);
    info->cost = cost() * tick.nanoseconds;
    return MPI_SUCCESS;
}
