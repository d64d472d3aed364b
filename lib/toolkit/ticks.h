/* SPDX-License-Identifier: MIT */
/* The clock of <qmpi/clock.h>, as calls are noted with it: a conversion that is inline. */
#ifndef QMPI_TOOLKIT_TICKS_H
#define QMPI_TOOLKIT_TICKS_H

#include <qmpi/clock.h>

/* Nanoseconds per tick, times 2^58. Declared hidden, so that a call reads it directly, not through
 * the GOT. */
extern uint64_t ticks_scale __attribute__((visibility("hidden")));

/* Makes ticks_nanoseconds as accurate as the time since the start of the clock allows. */
void ticks_refine(void);

/* Returns the seconds per tick. Also in a signal handler. */
double ticks_length(void);

/* Returns the current time. Any thread. */
static inline uint64_t ticks_now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

/* Converts ticks with the current accuracy; for histograms. */
static inline uint64_t ticks_nanoseconds(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)(ticks << 6) * ticks_scale >> 64);
}

#endif
