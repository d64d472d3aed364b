/* SPDX-License-Identifier: MIT */
/* A cycle counter of the processor, if programs may read it: fast to read, usually of constant
 * rate. */
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
#elif defined(__aarch64__)
enum { QMPI_HAS_COUNTER = true };

/* The virtual counter of the generic timer, which the kernel lets programs read. */
static inline uint64_t qmpi_counter_now(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
enum { QMPI_HAS_COUNTER = false };

static inline uint64_t qmpi_counter_now(void)
{
    return 0;
}
#endif

/* Whether the counter never changes its rate, and is the same on all cores. Async-signal-safe. */
bool qmpi_counter_is_invariant(void);

#endif
