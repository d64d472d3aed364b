/* SPDX-License-Identifier: MIT */
/* A counter of the processor that goes on at one rate, where it has one that is fast to read. */
#ifndef QMPI_CLOCK_ARCH_COUNTER_H
#define QMPI_CLOCK_ARCH_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { QMPI_HAS_COUNTER = true };

static inline uint64_t qmpi_counter_now(void)
{
    return __builtin_ia32_rdtsc();
}
#else
enum { QMPI_HAS_COUNTER = false };

static inline uint64_t qmpi_counter_now(void)
{
    return 0;
}
#endif

/* Whether its rate never changes, and is the same on all cores. Async-signal-safe. */
bool qmpi_counter_is_invariant(void);

#endif
