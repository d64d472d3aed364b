/* SPDX-License-Identifier: MIT */
/* Time by windows of equal width from the begin of application time on, as
 * tools/profile/record/windows.h has it. Times are in ticks. */
#ifndef QMPI_TRACE_PROFILE_TIME_WINDOWS_H
#define QMPI_TRACE_PROFILE_TIME_WINDOWS_H

#include "profile/profile.h"

#include <stdint.h>

struct time_windows {
    uint64_t start; /* 0: application time has not begun */
    uint64_t width;
    int doublings; /* of the width that they began with */
    uint64_t times[PROFILE_WINDOWS_MOST];
};

void time_windows_begin(struct time_windows *windows, uint64_t start, double tick);
void time_windows_add(struct time_windows *windows, uint64_t from, uint64_t to);
void time_windows_widen(struct time_windows *windows, int doublings);

#endif
