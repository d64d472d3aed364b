/* SPDX-License-Identifier: MIT */
/* See counter.h. */
#define _GNU_SOURCE
#include "clock/arch/counter.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Whether the kernel considers the counter reliable. If it has found that the counter differs
 * between cores, it no longer lists the counter in this file. If the file cannot be read, the
 * counter counts as reliable. */
static bool kernel_trusts_counter(void)
{
    char line[256] = "";
    const int file = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                          O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return true;
    const ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    return length <= 0 || strstr(line, "tsc");
}

bool qmpi_counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1U << 8 && kernel_trusts_counter();
}
#elif defined(__aarch64__)
/* The architecture demands one constant rate for all cores. If a core breaks this rule, the kernel
 * traps the instruction and returns a corrected value. */
bool qmpi_counter_is_invariant(void)
{
    return true;
}
#else
bool qmpi_counter_is_invariant(void)
{
    return false;
}
#endif
