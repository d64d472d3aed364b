/* SPDX-License-Identifier: MIT */
/* Prints a note of a test tool: one line `trace: …`, at most 511 bytes, on stderr in one write. */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static inline void
trace(const char *format, ...)
{
    char text[512];
    const char mark[] = "trace: ";
    const int start = snprintf(text, sizeof text, "%s", mark);
    va_list list;
    va_start(list, format);
    int end = start + vsnprintf(text + start, sizeof text - (size_t)start - 1, format, list);
    va_end(list);
    if (end > (int)sizeof text - 2)
        end = (int)sizeof text - 2;
    text[end++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)end) < 0)
        _exit(98);
}

#endif
