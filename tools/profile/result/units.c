/* SPDX-License-Identifier: MIT */
/* See units.h. */
#include "tools/profile/result/units.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { TEXTS = 16, LENGTH = 32 };

static char *next_text(void)
{
    static _Thread_local char texts[TEXTS][LENGTH];
    static _Thread_local unsigned next;
    return texts[next++ % TEXTS];
}

/* Prints three digits, or all digits before the decimal point. */
static const char *format_digits(double value, const char *unit)
{
    char *text = next_text();
    const double size = fabs(value);
    snprintf(text, LENGTH, "%.*f%s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, value, unit);
    return text;
}

const char *units_time(double seconds)
{
    const double size = fabs(seconds);
    if (size < 0.05e-9)
        return "0";
    if (size < 999.5e-9) {
        char *text = next_text();
        snprintf(text, LENGTH, size < 9.5e-9 ? "%.1f ns" : "%.0f ns", seconds * 1e9);
        return text;
    }
    if (size < 999.5e-6)
        return format_digits(seconds * 1e6, " us");
    if (size < 999.5e-3)
        return format_digits(seconds * 1e3, " ms");
    return format_digits(seconds, " s");
}

const char *units_bytes(double bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    const size_t last = sizeof units / sizeof *units - 1;
    size_t unit = 0;
    if (bytes == 0)
        return "0";
    if (fabs(bytes) < 1024) {
        char *text = next_text();
        snprintf(text, LENGTH, "%.0f B", bytes);
        return text;
    }
    for (bytes /= 1024; fabs(bytes) >= 1023.5 && unit < last; unit++)
        bytes /= 1024;
    return format_digits(bytes, units[unit]);
}

const char *units_percent(double part, double whole)
{
    if (!(whole > 0))
        return "-";
    char *text = next_text();
    snprintf(text, LENGTH, "%.1f", 100 * part / whole);
    return text;
}
