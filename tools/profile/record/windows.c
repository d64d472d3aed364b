/* SPDX-License-Identifier: MIT */
/* See windows.h. */
#define _GNU_SOURCE
#include "tools/profile/record/windows.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

QMPI_COMPUTES static uint64_t width_in_ticks(double tick)
{
    const double width = PROFILE_WINDOW_WIDTH / tick;
    return width >= 1 ? (uint64_t)(width + 0.5) : 1;
}

void windows_begin(struct windows_scale *scale, uint64_t start)
{
    if (scale->start)
        return;
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    scale->width = width_in_ticks(ticks_length());
    qmpi_arithmetic_end(&before);
    __atomic_store_n(&scale->start, start, __ATOMIC_RELEASE);
}

static uint64_t *valid_times(struct windows *windows)
{
    return windows->times[windows->doublings % 2];
}

/* Doubles the width. If the function is left with longjmp or an exception, `doublings` is
 * unchanged, and the next call of this function starts again. */
static void widen_windows(struct windows *windows)
{
    const uint64_t *from = valid_times(windows);
    uint64_t *to = windows->times[(windows->doublings + 1) % 2];
    for (size_t i = 0; i < PROFILE_WINDOWS_MOST; i++) {
        const uint64_t both = i < PROFILE_WINDOWS_MOST / 2 ? from[2 * i] + from[2 * i + 1] : 0;
        __atomic_store_n(&to[i], both, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&windows->doublings, windows->doublings + 1, __ATOMIC_RELEASE);
}

/* windows->time is stored before windows->end. If the function is left with longjmp or an exception
 * in between, the old windows->end makes windows_add_call call this function again. */
void windows_add(struct windows *windows, const struct windows_scale *scale, uint64_t from,
                 uint64_t to)
{
    const uint64_t start = __atomic_load_n(&scale->start, __ATOMIC_ACQUIRE);
    if (!start || to <= start || to <= from)
        return;
    to -= start;
    from = from > start ? from - start : 0;
    while (to / (scale->width << windows->doublings) >= PROFILE_WINDOWS_MOST)
        widen_windows(windows);
    const uint64_t width = scale->width << windows->doublings;
    uint64_t *time = valid_times(windows) + from / width;
    uint64_t end = (from / width + 1) * width;
    for (; end <= to; time++, end += width) {
        figure_add(time, end - from);
        from = end;
    }
    figure_add(time, to - from);
    __atomic_store_n(&windows->time, time, __ATOMIC_RELEASE);
    __atomic_store_n(&windows->end, start + end, __ATOMIC_RELEASE);
}

void windows_widen(struct windows *windows, const struct windows *other)
{
    while (windows->doublings < other->doublings)
        widen_windows(windows);
}

/* Adds `times` to windows that are `factor` times as wide. */
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
        widen_windows(sum);
    add_times(sum, times, UINT64_C(1) << (sum->doublings - doublings));
}
