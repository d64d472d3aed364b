/* SPDX-License-Identifier: MIT */
/* See counter.h. */
#define _GNU_SOURCE
#include "toolkit/arch/counter.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdio.h>
#include <string.h>

/* A kernel that has found the counter to differ between cores offers it no longer. */
static bool kernel_trusts_counter(void)
{
    char line[256] = "";
    FILE *stream =
        fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
    if (!stream)
        return true;
    const bool read = fgets(line, sizeof line, stream) != NULL;
    fclose(stream);
    return !read || strstr(line, "tsc");
}

bool tool_counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1U << 8 && kernel_trusts_counter();
}
#else
bool tool_counter_is_invariant(void)
{
    return false;
}
#endif
