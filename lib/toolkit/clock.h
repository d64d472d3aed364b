/* SPDX-License-Identifier: MIT */
/*
 * The clock of the bundled tools: the cycle counter of the processor if it has a constant rate on
 * all cores, otherwise CLOCK_MONOTONIC. Readings are in ticks. The length of a tick is determined
 * at the end, from the whole run, so that calibration does not delay the program.
 */
#ifndef QMPI_TOOLKIT_CLOCK_H
#define QMPI_TOOLKIT_CLOCK_H

#include "toolkit/arch/counter.h"

#include <stdbool.h>
#include <stdint.h>

/* Set by tool_clock_start. Declared hidden, so that a call reads them directly, not through the
 * GOT.
 */
extern bool tool_clock_is_counter __attribute__((visibility("hidden")));
extern uint64_t tool_clock_scale /* nanoseconds per tick, times 2^32 */
    __attribute__((visibility("hidden")));

/* Selects the clock and starts the calibration; further calls have no effect. Takes some 20 us. */
void tool_clock_start(void);

/* Makes tool_clock_nanoseconds as accurate as the time since tool_clock_start allows. */
void tool_clock_refine(void);

/* Returns the seconds per tick, from the time since tool_clock_start; waits until this is at least
 * 1 ms. */
double tool_clock_tick(void);

/* Returns CLOCK_MONOTONIC in nanoseconds. */
uint64_t tool_clock_monotonic(void);

/* Returns the current time in ticks. Any thread. */
static inline uint64_t tool_clock_now(void)
{
    if (TOOL_HAS_COUNTER && __builtin_expect(tool_clock_is_counter, 1))
        return tool_counter_now();
    return tool_clock_monotonic();
}

/* Converts ticks to nanoseconds with the current accuracy; for histograms. */
static inline uint64_t tool_clock_nanoseconds(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)ticks * tool_clock_scale >> 32);
}

#endif
