/* SPDX-License-Identifier: MIT */
/*
 * Time by windows of the run: equal ones from the end of MPI_Init on. If there would be too many,
 * two neighbours become one. Times are in ticks (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_WINDOWS_H
#define QMPI_TOOL_PROFILE_RECORD_WINDOWS_H

#include "profile/profile.h"
#include "record/arch/add.h"
#include "toolkit/toolkit.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the windows of a layer begin. */
struct windows_scale {
    uint64_t start; /* the tick at which application time begins; 0: it has not begun */
    uint64_t width; /* of a window that was never doubled */
};

/*
 * What one thread spends in each window. Others may read it meanwhile, without a lock: windows are
 * doubled from one array of times into the other one.
 */
struct windows {
    uint64_t end;   /* tick at which the window ends that was last added to; 0: none was */
    uint64_t *time; /* of that window */
    uint64_t doublings;
    uint64_t times[2][PROFILE_WINDOWS_MOST]; /* [doublings % 2] is valid */
};

/* Application time begins, with windows of PROFILE_WINDOW_WIDTH. Only the first call counts. */
void windows_begin(struct windows_scale *scale, uint64_t start);

/* Adds the time from `from` to `to` to the windows that it lies in. Only the thread whose windows
 * they are may do so, and `from` must not lie before the end of what was last added. */
void windows_add(struct windows *windows, const struct windows_scale *scale, uint64_t from,
                 uint64_t to);

/* The same for a call that usually ends in the window in which the last one ended. */
static inline void windows_note(struct windows *windows, const struct windows_scale *scale,
                                uint64_t time, uint64_t end)
{
    if (__builtin_expect(end < windows->end, 1))
        note_add(windows->time, time);
    else
        windows_add(windows, scale, end - time, end);
}

/* Adds what another thread noted. */
void windows_sum(struct windows *sum, const struct windows *more);

/* Makes the windows at least as wide as those of the other one. */
void windows_widen(struct windows *windows, const struct windows *other);

/* What lies in a window. */
static inline uint64_t windows_get(const struct windows *windows, size_t number)
{
    return windows->times[windows->doublings % 2][number];
}

#endif
