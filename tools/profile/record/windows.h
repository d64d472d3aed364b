/* SPDX-License-Identifier: MIT */
/*
 * This splits time into windows of equal width, the first of which begins with application time
 * (regions_begin). If there would be too many windows, pairs of neighbours are joined, which
 * doubles the width. Times are in ticks (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_WINDOWS_H
#define QMPI_TOOL_PROFILE_RECORD_WINDOWS_H

#include "toolkit/toolkit.h"
#include "tools/profile/record/arch/figure.h"
#include "tools/profile/result/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* The start and the initial width of the windows of a layer. */
struct windows_scale {
    uint64_t start; /* the tick at which application time begins; 0: it has not begun */
    uint64_t width; /* the width of a window before any doubling */
};

/*
 * The time in each window: that of one thread in MPI, or the application time. Other threads may
 * read it at any time without a lock, because doubling the width leaves the valid array of times
 * unchanged and fills the other.
 */
struct windows {
    uint64_t end;   /* the tick at which the last used window ends; 0: no window was used */
    uint64_t *time; /* the element of `times` for the last used window */
    uint64_t doublings;
    uint64_t times[2][PROFILE_WINDOWS_MOST]; /* [doublings % 2] is valid */
};

/* Lets the first window begin at the tick `start`. Windows are PROFILE_WINDOW_WIDTH seconds wide at
 * first. Further calls do nothing. */
void windows_begin(struct windows_scale *scale, uint64_t start);

/* Adds the time from `from` to `to` to the windows that it overlaps. Only one thread at a time may
 * add to the same windows. */
void windows_add(struct windows *windows, const struct windows_scale *scale, uint64_t from,
                 uint64_t to);

/* Adds the time of a call that ended at `end`. The call must not have begun before the end of the
 * time that was added last. This is faster if the call ends in the last used window. */
static inline void windows_add_call(struct windows *windows, const struct windows_scale *scale,
                                    uint64_t time, uint64_t end)
{
    if (__builtin_expect(end < windows->end, 1))
        figure_add(windows->time, time);
    else
        windows_add(windows, scale, end - time, end);
}

/* Adds the times of another thread, which may change them meanwhile. */
void windows_sum(struct windows *sum, const struct windows *more);

/* Makes the windows at least as wide as those of `other`. */
void windows_widen(struct windows *windows, const struct windows *other);

/* Returns the time in a window. */
static inline uint64_t windows_get(const struct windows *windows, size_t number)
{
    return windows->times[windows->doublings % 2][number];
}

#endif
