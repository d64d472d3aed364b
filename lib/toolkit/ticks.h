/* SPDX-License-Identifier: MIT */
/* Reads the clock of <qmpi/clock.h>, and converts its ticks inline, which is fast enough for every
 * MPI call. */
#ifndef QMPI_TOOLKIT_TICKS_H
#define QMPI_TOOLKIT_TICKS_H

#include <qmpi/clock.h>

/* This is the number of nanoseconds per tick, times 2^58. The variable is hidden, so that the
 * compiler need not read its address from the GOT. */
extern uint64_t ticks_scale __attribute__((visibility("hidden")));

/* Makes ticks_nanoseconds as accurate as the time since the start of the clock allows. */
void ticks_refine(void);

/* Returns the seconds per tick. This may be called in a signal handler. */
double ticks_length(void);

/* Returns the current time in ticks. Any thread may call this. */
static inline uint64_t ticks_now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

/* Converts ticks to nanoseconds with the current accuracy, which is sufficient for histograms. */
static inline uint64_t ticks_nanoseconds(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)(ticks << 6) * ticks_scale >> 64);
}

#endif
