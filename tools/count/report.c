/* SPDX-License-Identifier: MIT */
/* See report.h. */
#define _GNU_SOURCE
#include "tools/count/report.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stores the functions that were called, sorted by descending number of calls and then by name.
 * Returns how many there are. This function is safe in a signal handler. */
static int sort_functions(const unsigned long long calls[MPI_LAST_FUNC], int order[MPI_LAST_FUNC])
{
    int count = 0;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (!calls[number])
            continue;
        int at = count++;
        for (; at > 0; at--) {
            const int above = order[at - 1];
            if (calls[above] > calls[number] ||
                (calls[above] == calls[number] &&
                 strcmp(QMPIX_Function_name((enum QMPI_Functions_enum)above),
                        QMPIX_Function_name((enum QMPI_Functions_enum)number)) < 0))
                break;
            order[at] = above;
        }
        order[at] = number;
    }
    return count;
}

/* Returns the end of the heading of a table for a single process, which says why the process is
 * reported alone. */
static const char *describe_end(enum count_end end)
{
    switch (end) {
    case COUNT_LOST:
        return ", which ended without MPI_Finalize";
    case COUNT_NOT_COMBINED:
        return ", because MPI_Finalize could not combine the ranks";
    default:
        return "";
    }
}

static double mean_calls(const struct count_summary *summary, int number)
{
    return (double)summary->calls[number] / summary->ranks;
}

QMPI_COMPUTES static void print_table(FILE *stream, const struct count_summary *summary,
                                      int tool_id)
{
    int order[MPI_LAST_FUNC];
    const int count = sort_functions(summary->calls, order);
    const char *programs = summary->programs ? summary->programs : "";
    const char *of = summary->programs ? " of " : "";
    if (summary->rank < 0)
        fprintf(stream, "count (layer %d): MPI calls of %d rank%s%s%s\n", tool_id, summary->ranks,
                summary->ranks == 1 ? "" : "s", of, programs);
    else if (summary->end == COUNT_OUTSIDE)
        fprintf(stream,
                "count (layer %d): MPI calls of process %d%s%s alone, which did not initialize "
                "MPI\n",
                tool_id, summary->process, of, programs);
    else
        fprintf(stream, "count (layer %d): MPI calls of rank %d%s%s alone%s\n", tool_id,
                summary->rank, of, programs, describe_end(summary->end));
    fprintf(stream, "%-36s %14s %12s %14s %12s\n", "function", "calls", "min", "mean", "max");
    for (int i = 0; i < count; i++) {
        const int number = order[i];
        fprintf(stream, "%-36s %14llu %12llu %14.1f %12llu\n",
                QMPIX_Function_name((enum QMPI_Functions_enum)number), summary->calls[number],
                summary->min[number], mean_calls(summary, number), summary->max[number]);
    }
}

/* Removes a file that could not be written as a whole, unless it is a link or a device. Safe in a
 * signal handler. */
static void remove_incomplete(const char *file)
{
    struct stat status;
    if (!lstat(file, &status) && S_ISREG(status.st_mode))
        unlink(file);
}

/* Returns 0 or the errno of the failure. If some of the text cannot be written, there is no file
 * afterwards. */
static int write_json(const json_t *root, const char *file)
{
    struct qmpi_output output;
    int problem = qmpi_output_open(&output, file, O_CREAT | O_TRUNC, 0666);
    if (problem)
        return problem;
    FILE *stream = qmpi_output_stream(&output);
    if (!stream) {
        qmpi_output_close(&output);
        remove_incomplete(file);
        return ENOMEM;
    }
    const bool complete = json_dumpf(root, stream, JSON_INDENT(2)) == 0;
    if (fclose(stream) != 0 || !complete)
        problem = output.error ? output.error : ENOMEM;
    if (problem)
        remove_incomplete(file);
    return problem;
}

QMPI_COMPUTES static json_t *make_json(const struct count_summary *summary)
{
    int order[MPI_LAST_FUNC];
    const int count = sort_functions(summary->calls, order);
    json_t *functions = json_object();
    for (int i = 0; i < count; i++) {
        const int number = order[i];
        json_object_set_new(
            functions, QMPIX_Function_name((enum QMPI_Functions_enum)number),
            json_pack("{s:I, s:I, s:f, s:I}", "calls", (json_int_t)summary->calls[number], "min",
                      (json_int_t)summary->min[number], "mean", mean_calls(summary, number), "max",
                      (json_int_t)summary->max[number]));
    }
    json_t *root = json_pack("{s:s, s:i}", "schema", "qmpi-count/1", "ranks", summary->ranks);
    if (summary->rank >= 0 && summary->end == COUNT_OUTSIDE)
        json_object_set_new(root, "pid", json_integer(summary->process));
    else if (summary->rank >= 0)
        json_object_set_new(root, "rank", json_integer(summary->rank));
    json_object_set_new(root, "functions", functions);
    return root;
}

bool count_report_json(const struct count_summary *summary, int tool_id, const char *file)
{
    struct qmpi_value_numbers numbers;
    qmpi_value_begin_numbers(&numbers);
    json_t *root = make_json(summary);
    const int problem = write_json(root, file);
    qmpi_value_end_numbers(&numbers);
    if (problem)
        qmpi_printf("count (layer %d): cannot write %s: %s\n  printing the table instead", tool_id,
                    file, strerror(problem));
    json_decref(root);
    return !problem;
}

/* ---- Without memory -------------------------------------------------------------------------- */

/* These functions do not use malloc, locks or streams, because they are called in signal handlers
 * and when memory is exhausted. They add to a buffer, which is written whenever it is full. */
struct out {
    struct qmpi_output *file; /* NULL for stderr */
    bool good;
    size_t used;
    char bytes[512];
};

static void flush_text(struct out *out)
{
    if (!out->file)
        qmpi_output_standard_write(STDERR_FILENO, out->bytes, out->used);
    else if (out->good)
        out->good = !qmpi_output_write(out->file, out->bytes, out->used);
    out->used = 0;
}

static void put_text(struct out *out, const char *text)
{
    for (; *text; text++) {
        if (out->used == sizeof out->bytes)
            flush_text(out);
        out->bytes[out->used++] = *text;
    }
}

/* Adds a number and the text `after`, both together aligned to the right in `width` columns. */
static void put_number(struct out *out, unsigned long long number, int width, const char *after)
{
    char digits[24], *first = digits + sizeof digits - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    for (int length = (int)(strlen(first) + strlen(after)); length < width; length++)
        put_text(out, " ");
    put_text(out, first);
    put_text(out, after);
}

static void put_padded_name(struct out *out, const char *name)
{
    put_text(out, "qmpi: ");
    put_text(out, name);
    for (size_t length = strlen(name); length < 36; length++)
        put_text(out, " ");
}

static void put_headings(struct out *out)
{
    put_padded_name(out, "function");
    put_text(out, "          calls          min           mean          max\n");
}

/* Prints the same text as print_in_one_piece. */
static void put_summary(const struct count_summary *summary, int tool_id)
{
    struct out out = {.file = NULL, .good = true};
    int order[MPI_LAST_FUNC];
    const int count = sort_functions(summary->calls, order);
    const unsigned ranks = (unsigned)summary->ranks;
    put_text(&out, "qmpi: count (layer ");
    put_number(&out, (unsigned)tool_id, 0, "): MPI calls of ");
    if (summary->rank < 0) {
        put_number(&out, ranks, 0, ranks == 1 ? " rank" : " ranks");
    } else {
        put_text(&out, "rank ");
        put_number(&out, (unsigned)summary->rank, 0, "");
    }
    put_text(&out, summary->programs ? " of " : "");
    put_text(&out, summary->programs ? summary->programs : "");
    put_text(&out, summary->rank < 0 ? "" : " alone");
    put_text(&out, summary->rank < 0 ? "" : describe_end(summary->end));
    put_text(&out, "\n");
    put_headings(&out);
    for (int i = 0; i < count; i++) {
        const int number = order[i];
        const unsigned long long tenths = (20 * summary->calls[number] + ranks) / (2 * ranks);
        const char part[] = {'.', (char)('0' + tenths % 10), '\0'};
        put_padded_name(&out, QMPIX_Function_name((enum QMPI_Functions_enum)number));
        put_number(&out, summary->calls[number], 15, "");
        put_number(&out, summary->min[number], 13, "");
        put_number(&out, tenths / 10, 15, part);
        put_number(&out, summary->max[number], 14, "\n"); /* The line ends in the last column. */
    }
    flush_text(&out);
}

/* Returns false if memory is exhausted. */
static bool print_in_one_piece(const struct count_summary *summary, int tool_id)
{
    struct qmpi_value_numbers numbers;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return false;
    qmpi_value_begin_numbers(&numbers);
    print_table(stream, summary, tool_id);
    qmpi_value_end_numbers(&numbers);
    /* If fclose has no memory to shorten the text, it returns 0, and there is no text. */
    const bool is_whole = !ferror(stream) & !fclose(stream) && text;
    if (is_whole)
        qmpi_print(text);
    free(text);
    return is_whole;
}

void count_report_table(const struct count_summary *summary, int tool_id)
{
    if (!print_in_one_piece(summary, tool_id))
        put_summary(summary, tool_id);
}

/* ---- In a signal handler --------------------------------------------------------------------- */

struct signal_report {
    int tool_id, rank;
    const char *signal; /* name of the signal */
    const unsigned long long *calls;
    int order[MPI_LAST_FUNC], count; /* the functions that were called */
};

static void put_table(struct out *out, const struct signal_report *report)
{
    put_text(out, "qmpi: count (layer ");
    put_number(out, (unsigned)report->tool_id, 0, "): MPI calls of rank ");
    put_number(out, (unsigned)report->rank, 0, "");
    if (tool_run_has_programs()) {
        put_text(out, " of ");
        put_text(out, tool_run_program());
    }
    put_text(out, " alone, which ended without MPI_Finalize (signal ");
    put_text(out, report->signal);
    put_text(out, ")\n");
    put_headings(out);
    for (int i = 0; i < report->count; i++) {
        put_padded_name(out, QMPIX_Function_name((enum QMPI_Functions_enum)report->order[i]));
        put_number(out, report->calls[report->order[i]], 15, "");
        put_number(out, report->calls[report->order[i]], 13, "");
        put_number(out, report->calls[report->order[i]], 15, ".0");
        put_number(out, report->calls[report->order[i]], 14, "\n"); /* as in put_summary */
    }
    flush_text(out);
}

static void put_json(struct out *out, const struct signal_report *report)
{
    put_text(out, "{\n  \"schema\": \"qmpi-count/1\",\n  \"ranks\": 1,\n  \"rank\": ");
    put_number(out, (unsigned)report->rank, 0, ",\n  \"functions\": {");
    for (int i = 0; i < report->count; i++) {
        put_text(out, i ? ",\n    \"" : "\n    \"");
        put_text(out, QMPIX_Function_name((enum QMPI_Functions_enum)report->order[i]));
        put_text(out, "\": {\n      \"calls\": ");
        put_number(out, report->calls[report->order[i]], 0, ",\n      \"min\": ");
        put_number(out, report->calls[report->order[i]], 0, ",\n      \"mean\": ");
        put_number(out, report->calls[report->order[i]], 0, ".0,\n      \"max\": ");
        put_number(out, report->calls[report->order[i]], 0, "\n    }");
    }
    put_text(out, report->count ? "\n  }\n}" : "}\n}");
    flush_text(out);
}

static bool write_signal_json(const struct signal_report *report, const char *file)
{
    struct qmpi_output output;
    struct out out = {.file = &output, .good = true};
    if (qmpi_output_open(&output, file, O_CREAT | O_TRUNC, 0666))
        return false;
    put_json(&out, report);
    const bool is_whole = !qmpi_output_close(&output) && out.good;
    if (!is_whole)
        remove_incomplete(file);
    return is_whole;
}

void count_report_signal(const unsigned long long calls[MPI_LAST_FUNC], int tool_id, int rank,
                         struct tool_output *output, const char *signal)
{
    static struct signal_report report; /* It may be too large for a stack of signal handlers. */
    struct out out = {.file = NULL, .good = true};
    report.tool_id = tool_id;
    report.rank = rank;
    report.signal = signal;
    report.calls = calls;
    report.count = sort_functions(calls, report.order);
    if (!report.count)
        return; /* for example, in a layer that was never on */
    const char *file = output ? tool_output_claim(output, true) : NULL;
    if (file && write_signal_json(&report, file)) {
        put_text(&out, "qmpi: count (layer ");
        put_number(&out, (unsigned)tool_id, 0, "): rank ");
        put_number(&out, (unsigned)rank, 0, " ended without MPI_Finalize (signal ");
        put_text(&out, signal);
        put_text(&out, "); its calls are in ");
        put_text(&out, file);
        put_text(&out, "\n");
        flush_text(&out);
        return;
    }
    if (file) {
        put_text(&out, "qmpi: count (layer ");
        put_number(&out, (unsigned)tool_id, 0, "): cannot write ");
        put_text(&out, file);
        put_text(&out, "\nqmpi:   printing the table instead\n");
    }
    put_table(&out, &report);
}
