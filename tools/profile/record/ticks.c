/* SPDX-License-Identifier: MIT */
/* See ticks.h. */
#include "record/ticks.h"

uint64_t ticks_scale = UINT64_C(1) << 32;

void ticks_refine(void)
{
    uint64_t scale = ticks_scale;
    QMPIX_Clock_to_nanoseconds(UINT64_C(1) << 32, &scale);
    __atomic_store_n(&ticks_scale, scale, __ATOMIC_RELAXED);
}

double ticks_length(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    return info.tick * 1e-9;
}
