/* SPDX-License-Identifier: MIT */
/* See time_windows.h. */
#define _GNU_SOURCE
#include "trace/profile/time_windows.h"

void time_windows_begin(struct time_windows *windows, uint64_t start, double tick)
{
    if (windows->start)
        return;
    const double width = PROFILE_WINDOW_WIDTH / tick;
    windows->width = width >= 1 ? (uint64_t)(width + 0.5) : 1;
    windows->start = start;
}

static void widen(struct time_windows *windows)
{
    for (int i = 0; i < PROFILE_WINDOWS_MOST; i++)
        windows->times[i] =
            i < PROFILE_WINDOWS_MOST / 2 ? windows->times[2 * i] + windows->times[2 * i + 1] : 0;
    windows->width *= 2;
    windows->doublings++;
}

void time_windows_widen(struct time_windows *windows, int doublings)
{
    while (windows->doublings < doublings)
        widen(windows);
}

void time_windows_add(struct time_windows *windows, uint64_t from, uint64_t to)
{
    if (!windows->start || to <= windows->start || to <= from)
        return;
    to -= windows->start;
    from = from > windows->start ? from - windows->start : 0;
    while (to / windows->width >= PROFILE_WINDOWS_MOST)
        widen(windows);
    while (from < to) {
        const uint64_t number = from / windows->width, end = (number + 1) * windows->width;
        windows->times[number] += (end < to ? end : to) - from;
        from = end;
    }
}
