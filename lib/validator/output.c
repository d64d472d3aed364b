/* SPDX-License-Identifier: MIT */
/* See checks.h. */
#define _GNU_SOURCE
#include "validator/checks.h"

#include "validator/fault.h"
#include "validator/visit.h"
#include "validator/watch.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Reports --------------------------------------------------------------------------------- */

static void report_output(const void *caller)
{
    const struct visit *visit = visit_current();
    const int tool_id = watch_find_layer(caller);
    const QMPIX_Function *function;
    if (tool_id < 1 || QMPIX_Function_describe(MPI_INIT_T, &function) != MPI_SUCCESS)
        return;
    const bool in_visit = visit && visit->tool_id == tool_id;
    fault_report(&(struct fault){.kind = FAULT_STDOUT,
                                 .tool_id = tool_id,
                                 .function = in_visit ? visit->function : function,
                                 .context = in_visit ? visit->context : NULL,
                                 .calls = true,
                                 .detail = in_visit ? NULL
                                                    : "writes to the standard output, which "
                                                      "belongs to the program"});
}

#define REPORT(stream)                                                                             \
    do {                                                                                           \
        if ((stream) == stdout)                                                                    \
            report_output(WATCH_CALLER);                                                           \
    } while (0)

#define REPORT_DESCRIPTOR(descriptor)                                                              \
    do {                                                                                           \
        if ((descriptor) == STDOUT_FILENO)                                                         \
            report_output(WATCH_CALLER);                                                           \
    } while (0)

/* ---- The functions --------------------------------------------------------------------------- */

static int watched_puts(const char *text)
{
    REPORT(stdout);
    return puts(text);
}

static int watched_putchar(int character)
{
    REPORT(stdout);
    return putchar(character);
}

static int watched_putc(int character, FILE *stream)
{
    REPORT(stream);
    return putc(character, stream);
}

static int watched_fputs(const char *text, FILE *stream)
{
    REPORT(stream);
    return fputs(text, stream);
}

static size_t watched_fwrite(const void *data, size_t size, size_t count, FILE *stream)
{
    REPORT(stream);
    return fwrite(data, size, count, stream);
}

static ssize_t watched_write(int descriptor, const void *data, size_t size)
{
    REPORT_DESCRIPTOR(descriptor);
    return write(descriptor, data, size);
}

static ssize_t watched_writev(int descriptor, const struct iovec *parts, int count)
{
    REPORT_DESCRIPTOR(descriptor);
    return writev(descriptor, parts, count);
}

/* Called by putc_unlocked and putchar_unlocked where compilers inline them, but only if the buffer
 * has no room. */
static int watched_overflow(FILE *stream, int character)
{
    REPORT(stream);
    return __overflow(stream, character);
}

static int watched_vprintf(const char *format, va_list list) __attribute__((format(printf, 1, 0)));
static int watched_vprintf(const char *format, va_list list)
{
    REPORT(stdout);
    return vprintf(format, list);
}

static int watched_vfprintf(FILE *stream, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
static int watched_vfprintf(FILE *stream, const char *format, va_list list)
{
    REPORT(stream);
    return vfprintf(stream, format, list);
}

static int watched_vdprintf(int descriptor, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
static int watched_vdprintf(int descriptor, const char *format, va_list list)
{
    REPORT_DESCRIPTOR(descriptor);
    return vdprintf(descriptor, format, list);
}

static int watched_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int watched_printf(const char *format, ...)
{
    va_list list;
    REPORT(stdout);
    va_start(list, format);
    const int result = vprintf(format, list);
    va_end(list);
    return result;
}

static int watched_fprintf(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int watched_fprintf(FILE *stream, const char *format, ...)
{
    va_list list;
    REPORT(stream);
    va_start(list, format);
    const int result = vfprintf(stream, format, list);
    va_end(list);
    return result;
}

static int watched_dprintf(int descriptor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int watched_dprintf(int descriptor, const char *format, ...)
{
    va_list list;
    REPORT_DESCRIPTOR(descriptor);
    va_start(list, format);
    const int result = vdprintf(descriptor, format, list);
    va_end(list);
    return result;
}

/* With _FORTIFY_SOURCE, compilers call these functions instead. */

static int watched_vprintf_chk(int flag, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
static int watched_vprintf_chk(int flag, const char *format, va_list list)
{
    (void)flag;
    REPORT(stdout);
    return vprintf(format, list);
}

static int watched_vfprintf_chk(FILE *stream, int flag, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));
static int watched_vfprintf_chk(FILE *stream, int flag, const char *format, va_list list)
{
    (void)flag;
    REPORT(stream);
    return vfprintf(stream, format, list);
}

static int watched_vdprintf_chk(int descriptor, int flag, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));
static int watched_vdprintf_chk(int descriptor, int flag, const char *format, va_list list)
{
    (void)flag;
    REPORT_DESCRIPTOR(descriptor);
    return vdprintf(descriptor, format, list);
}

static int watched_printf_chk(int flag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int watched_printf_chk(int flag, const char *format, ...)
{
    va_list list;
    (void)flag;
    REPORT(stdout);
    va_start(list, format);
    const int result = vprintf(format, list);
    va_end(list);
    return result;
}

static int watched_fprintf_chk(FILE *stream, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int watched_fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    va_list list;
    (void)flag;
    REPORT(stream);
    va_start(list, format);
    const int result = vfprintf(stream, format, list);
    va_end(list);
    return result;
}

static int watched_dprintf_chk(int descriptor, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int watched_dprintf_chk(int descriptor, int flag, const char *format, ...)
{
    va_list list;
    (void)flag;
    REPORT_DESCRIPTOR(descriptor);
    va_start(list, format);
    const int result = vdprintf(descriptor, format, list);
    va_end(list);
    return result;
}

#define WATCHED(name) (watch_function *)watched_##name

void validator_output_start(void)
{
    static const struct watch_entry functions[] = {
        {"puts", WATCHED(puts)},
        {"putchar", WATCHED(putchar)},
        {"putchar_unlocked", WATCHED(putchar)},
        {"putc", WATCHED(putc)},
        {"putc_unlocked", WATCHED(putc)},
        {"fputc", WATCHED(putc)},
        {"fputc_unlocked", WATCHED(putc)},
        {"_IO_putc", WATCHED(putc)},
        {"__overflow", WATCHED(overflow)},
        {"fputs", WATCHED(fputs)},
        {"fputs_unlocked", WATCHED(fputs)},
        {"fwrite", WATCHED(fwrite)},
        {"fwrite_unlocked", WATCHED(fwrite)},
        {"write", WATCHED(write)},
        {"writev", WATCHED(writev)},
        {"vprintf", WATCHED(vprintf)},
        {"vfprintf", WATCHED(vfprintf)},
        {"vdprintf", WATCHED(vdprintf)},
        {"printf", WATCHED(printf)},
        {"fprintf", WATCHED(fprintf)},
        {"dprintf", WATCHED(dprintf)},
        {"__vprintf_chk", WATCHED(vprintf_chk)},
        {"__vfprintf_chk", WATCHED(vfprintf_chk)},
        {"__vdprintf_chk", WATCHED(vdprintf_chk)},
        {"__printf_chk", WATCHED(printf_chk)},
        {"__fprintf_chk", WATCHED(fprintf_chk)},
        {"__dprintf_chk", WATCHED(dprintf_chk)},
    };
    watch_add(functions, sizeof functions / sizeof *functions, false);
}
