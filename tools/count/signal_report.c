/* SPDX-License-Identifier: MIT */
/* See signal_report.h. */
#define _GNU_SOURCE
#include "signal_report.h"

#include "counters.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* One handler runs at a time: what is too large for a thread's stack. */
static unsigned long long calls[MPI_LAST_FUNC];
static int order[MPI_LAST_FUNC];

struct out {
    int file;
    bool good;
    size_t used;
    char bytes[512];
};

static void flush(struct out *out)
{
    for (size_t at = 0; at < out->used && out->good;) {
        const ssize_t written = write(out->file, out->bytes + at, out->used - at);
        if (written > 0)
            at += (size_t)written;
        else
            out->good = written < 0 && errno == EINTR;
    }
    out->used = 0;
}

static void put(struct out *out, const char *text)
{
    for (; *text; text++) {
        if (out->used == sizeof out->bytes)
            flush(out);
        out->bytes[out->used++] = *text;
    }
}

/* Right-aligned, with `after` behind it. */
static void put_number(struct out *out, unsigned long long number, int width, const char *after)
{
    char digits[24], *first = digits + sizeof digits - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    for (int length = (int)(strlen(first) + strlen(after)); length < width; length++)
        put(out, " ");
    put(out, first);
    put(out, after);
}

static void put_name(struct out *out, const char *name)
{
    put(out, "qmpi: ");
    put(out, name);
    for (size_t length = strlen(name); length < 36; length++)
        put(out, " ");
}

static void put_table(struct out *out, int tool_id, int rank, int count, const char *signal)
{
    put(out, "qmpi: count (layer ");
    put_number(out, (unsigned)tool_id, 0, "): MPI calls of rank ");
    put_number(out, (unsigned)rank, 0, " alone, which ended without MPI_Finalize (signal ");
    put(out, signal);
    put(out, ")\n");
    put_name(out, "function");
    put(out, "          calls          min           mean          max\n");
    for (int i = 0; i < count; i++) {
        put_name(out, QMPIX_Function_name((enum QMPI_Functions_enum)order[i]));
        put_number(out, calls[order[i]], 15, "");
        put_number(out, calls[order[i]], 13, "");
        put_number(out, calls[order[i]], 15, ".0");
        put_number(out, calls[order[i]], 13, "\n");
    }
    flush(out);
}

static void put_json(struct out *out, int rank, int count)
{
    put(out, "{\n  \"schema\": \"qmpi-count/1\",\n  \"ranks\": 1,\n  \"rank\": ");
    put_number(out, (unsigned)rank, 0, ",\n  \"functions\": {");
    for (int i = 0; i < count; i++) {
        put(out, i ? ",\n    \"" : "\n    \"");
        put(out, QMPIX_Function_name((enum QMPI_Functions_enum)order[i]));
        put(out, "\": {\n      \"calls\": ");
        put_number(out, calls[order[i]], 0, ",\n      \"min\": ");
        put_number(out, calls[order[i]], 0, ",\n      \"mean\": ");
        put_number(out, calls[order[i]], 0, ".0,\n      \"max\": ");
        put_number(out, calls[order[i]], 0, "\n    }");
    }
    put(out, count ? "\n  }\n}" : "}\n}");
    flush(out);
}

static bool write_file(int rank, int count, const char *file)
{
    struct out out = {.file = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
                      .good = true};
    if (out.file < 0)
        return false;
    put_json(&out, rank, count);
    return !close(out.file) && out.good;
}

void count_signal_report(int tool_id, int rank, const char *file, const char *signal)
{
    struct out out = {.file = STDERR_FILENO, .good = true};
    counters_sum(tool_id, calls);
    const int count = count_report_sort(calls, order);
    if (!count)
        return; /* the layer was never on */
    const bool written = file && write_file(rank, count, file);
    if (!written && file) {
        put(&out, "qmpi: count (layer ");
        put_number(&out, (unsigned)tool_id, 0, "): cannot write ");
        put(&out, file);
        put(&out, "\nqmpi:   printing the table instead\n");
    }
    if (!written) {
        put_table(&out, tool_id, rank, count, signal);
        return;
    }
    put(&out, "qmpi: count (layer ");
    put_number(&out, (unsigned)tool_id, 0, "): rank ");
    put_number(&out, (unsigned)rank, 0, " ended without MPI_Finalize (signal ");
    put(&out, signal);
    put(&out, "); its calls are in ");
    put(&out, file);
    put(&out, "\n");
    flush(&out);
}
