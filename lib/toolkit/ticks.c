/* SPDX-License-Identifier: MIT */
/* See ticks.h. */
#include "toolkit/ticks.h"

#include "util/util.h"

/* ticks_refine stores this, and any thread may load it meanwhile. Neither needs an order, because
 * an old value is only less precise, and no other data depends on it. A plain load of the word is
 * atomic, too, and lets the compiler multiply by the word in memory. */
uint64_t ticks_scale = UINT64_C(1) << 58;

void ticks_refine(void)
{
    uint64_t nanoseconds;
    if (QMPIX_Clock_to_nanoseconds(UINT64_C(1) << 32, &nanoseconds) == MPI_SUCCESS)
        __atomic_store_n(&ticks_scale, nanoseconds << 26, __ATOMIC_RELAXED);
}

QMPI_COMPUTES static double in_seconds(double nanoseconds)
{
    return nanoseconds * 1e-9;
}

double ticks_length(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    struct qmpi_arithmetic before;
    QMPIX_Clock_get_info(&info);
    qmpi_arithmetic_begin(&before);
    const double seconds = in_seconds(info.tick);
    qmpi_arithmetic_end(&before);
    return seconds;
}
