/* SPDX-License-Identifier: MIT */
/*
 * The clock of the bundled tools: the processor's cycle counter where it runs at one rate on all
 * cores whatever they do, else CLOCK_MONOTONIC. Readings are in ticks; how long a tick is comes out
 * at the end, from the whole run, so that calibrating delays no program.
 */
#ifndef QMPI_TOOLKIT_CLOCK_H
#define QMPI_TOOLKIT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Set by tool_clock_start. Hidden, here too: a call reads them without a look into another table.
 */
extern bool tool_clock_is_counter __attribute__((visibility("hidden")));
extern uint64_t tool_clock_scale /* nanoseconds of a tick, times 2^32 */
    __attribute__((visibility("hidden")));

/* Chooses the clock and begins to calibrate; again: does nothing. Takes some 20 us. */
void tool_clock_start(void);

/* Makes tool_clock_nanoseconds as exact as the time since tool_clock_start allows. */
void tool_clock_refine(void);

/* Seconds of a tick, from all the time since tool_clock_start; waits where that is below 1 ms. */
double tool_clock_tick(void);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t tool_clock_monotonic(void);

/* Now, in ticks. Any thread. */
static inline uint64_t tool_clock_now(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(tool_clock_is_counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return tool_clock_monotonic();
}

/* Ticks as nanoseconds, as far as they are known by now: for histograms. */
static inline uint64_t tool_clock_nanoseconds(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)ticks * tool_clock_scale >> 32);
}

#endif
