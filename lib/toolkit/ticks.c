/* SPDX-License-Identifier: MIT */
/* See ticks.h. */
#include "toolkit/ticks.h"

uint64_t ticks_scale = UINT64_C(1) << 58;

void ticks_refine(void)
{
    uint64_t nanoseconds;
    if (QMPIX_Clock_to_nanoseconds(UINT64_C(1) << 32, &nanoseconds) == MPI_SUCCESS)
        __atomic_store_n(&ticks_scale, nanoseconds << 26, __ATOMIC_RELAXED);
}

double ticks_length(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    return info.tick * 1e-9;
}
