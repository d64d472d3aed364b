/* SPDX-License-Identifier: MIT */
/* See clock.h. */
#define _GNU_SOURCE
#include "toolkit/clock.h"

#include <time.h>

bool tool_clock_is_counter;
uint64_t tool_clock_scale = UINT64_C(1) << 32;

/* One moment on both clocks. */
struct moment {
    uint64_t ticks, nanoseconds;
};
static struct moment start;

uint64_t tool_clock_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Of several tries the one that was interrupted least. */
static struct moment both_clocks(void)
{
    struct moment best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        const uint64_t before = tool_clock_now();
        const uint64_t nanoseconds = tool_clock_monotonic();
        const uint64_t width = tool_clock_now() - before;
        if (width < narrowest) {
            narrowest = width;
            best = (struct moment){before + width / 2, nanoseconds};
        }
    }
    return best;
}

/* Spins until so long after the start: shorter spans of two clocks say little of their rates. */
static struct moment moment_after(uint64_t nanoseconds)
{
    while (tool_clock_monotonic() - start.nanoseconds < nanoseconds)
        ;
    return both_clocks();
}

static double rate(struct moment now)
{
    return (double)(now.nanoseconds - start.nanoseconds) / (double)(now.ticks - start.ticks);
}

static void set_scale(struct moment now)
{
    const uint64_t scale = (uint64_t)(rate(now) * 4294967296.0);
    __atomic_store_n(&tool_clock_scale, scale, __ATOMIC_RELAXED);
}

void tool_clock_start(void)
{
    if (start.nanoseconds)
        return;
    tool_clock_is_counter = tool_counter_is_invariant();
    start = both_clocks();
    if (tool_clock_is_counter)
        set_scale(moment_after(20000));
}

void tool_clock_refine(void)
{
    if (tool_clock_is_counter)
        set_scale(moment_after(20000));
}

double tool_clock_tick(void)
{
    return tool_clock_is_counter ? rate(moment_after(1000000)) * 1e-9 : 1e-9;
}
