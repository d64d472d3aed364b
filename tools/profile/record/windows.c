/* SPDX-License-Identifier: MIT */
/* See windows.h. */
#define _GNU_SOURCE
#include "record/windows.h"

#include "toolkit/toolkit.h"

void windows_begin(struct windows_scale *scale, uint64_t start)
{
    if (scale->start)
        return;
    const double width = PROFILE_WINDOW_WIDTH / ticks_length();
    scale->width = width >= 1 ? (uint64_t)(width + 0.5) : 1;
    __atomic_store_n(&scale->start, start, __ATOMIC_RELEASE);
}

static uint64_t *valid_times(struct windows *windows)
{
    return windows->times[windows->doublings % 2];
}

/* What is half done when it is left by a jump is done again. */
static void widen(struct windows *windows)
{
    const uint64_t *from = valid_times(windows);
    uint64_t *to = windows->times[(windows->doublings + 1) % 2];
    for (size_t i = 0; i < PROFILE_WINDOWS_MOST; i++) {
        const uint64_t both = i < PROFILE_WINDOWS_MOST / 2 ? from[2 * i] + from[2 * i + 1] : 0;
        __atomic_store_n(&to[i], both, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&windows->doublings, windows->doublings + 1, __ATOMIC_RELEASE);
}

/* The time is set before the end: if a jump leaves this in between, the next call comes here. */
void windows_add(struct windows *windows, const struct windows_scale *scale, uint64_t from,
                 uint64_t to)
{
    const uint64_t start = __atomic_load_n(&scale->start, __ATOMIC_ACQUIRE);
    if (!start || to <= start || to <= from)
        return;
    to -= start;
    from = from > start ? from - start : 0;
    while (to / (scale->width << windows->doublings) >= PROFILE_WINDOWS_MOST)
        widen(windows);
    const uint64_t width = scale->width << windows->doublings;
    uint64_t *time = valid_times(windows) + from / width;
    uint64_t end = (from / width + 1) * width;
    for (; end <= to; time++, end += width) {
        note_add(time, end - from);
        from = end;
    }
    note_add(time, to - from);
    __atomic_store_n(&windows->time, time, __ATOMIC_RELEASE);
    __atomic_store_n(&windows->end, start + end, __ATOMIC_RELEASE);
}

void windows_widen(struct windows *windows, const struct windows *other)
{
    while (windows->doublings < other->doublings)
        widen(windows);
}

/* Windows `factor` times as wide as those of `times`. */
static void add_times(struct windows *sum, const uint64_t *times, uint64_t factor)
{
    uint64_t *to = valid_times(sum);
    for (size_t i = 0; i < PROFILE_WINDOWS_MOST; i++)
        to[i / factor] += times[i];
}

void windows_sum(struct windows *sum, const struct windows *more)
{
    uint64_t times[PROFILE_WINDOWS_MOST], doublings;
    do {
        doublings = __atomic_load_n(&more->doublings, __ATOMIC_ACQUIRE);
        for (size_t i = 0; i < PROFILE_WINDOWS_MOST; i++)
            times[i] = __atomic_load_n(&more->times[doublings % 2][i], __ATOMIC_ACQUIRE);
    } while (doublings != __atomic_load_n(&more->doublings, __ATOMIC_ACQUIRE));
    while (sum->doublings < doublings)
        widen(sum);
    add_times(sum, times, UINT64_C(1) << (sum->doublings - doublings));
}
