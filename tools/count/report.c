/* SPDX-License-Identifier: MIT */
/* See report.h. */
#define _GNU_SOURCE
#include "report.h"

#include "util/util.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int count_report_sort(const unsigned long long calls[MPI_LAST_FUNC], int order[MPI_LAST_FUNC])
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

static double mean(const struct count_summary *summary, int number)
{
    return (double)summary->calls[number] / summary->ranks;
}

static void print_table(FILE *stream, const struct count_summary *summary, int tool_id)
{
    int order[MPI_LAST_FUNC];
    const int count = count_report_sort(summary->calls, order);
    if (summary->rank < 0)
        fprintf(stream, "count (layer %d): MPI calls of %d rank%s\n", tool_id, summary->ranks,
                summary->ranks == 1 ? "" : "s");
    else
        fprintf(stream, "count (layer %d): MPI calls of rank %d alone%s\n", tool_id, summary->rank,
                summary->lost ? ", which ended without MPI_Finalize" : "");
    fprintf(stream, "%-36s %14s %12s %14s %12s\n", "function", "calls", "min", "mean", "max");
    for (int i = 0; i < count; i++) {
        const int number = order[i];
        fprintf(stream, "%-36s %14llu %12llu %14.1f %12llu\n",
                QMPIX_Function_name((enum QMPI_Functions_enum)number), summary->calls[number],
                summary->min[number], mean(summary, number), summary->max[number]);
    }
}

void count_report_table(const struct count_summary *summary, int tool_id)
{
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return;
    print_table(stream, summary, tool_id);
    if (!fclose(stream))
        qmpi_print(text);
    free(text);
}

bool count_report_json(const struct count_summary *summary, int tool_id, const char *file)
{
    int order[MPI_LAST_FUNC];
    const int count = count_report_sort(summary->calls, order);
    json_t *functions = json_object();
    for (int i = 0; i < count; i++) {
        const int number = order[i];
        json_object_set_new(
            functions, QMPIX_Function_name((enum QMPI_Functions_enum)number),
            json_pack("{s:I, s:I, s:f, s:I}", "calls", (json_int_t)summary->calls[number], "min",
                      (json_int_t)summary->min[number], "mean", mean(summary, number), "max",
                      (json_int_t)summary->max[number]));
    }
    json_t *root = json_pack("{s:s, s:i}", "schema", "qmpi-count/1", "ranks", summary->ranks);
    if (summary->rank >= 0)
        json_object_set_new(root, "rank", json_integer(summary->rank));
    json_object_set_new(root, "functions", functions);
    errno = 0;
    const bool written = json_dump_file(root, file, JSON_INDENT(2)) == 0;
    if (!written)
        qmpi_printf("count (layer %d): cannot write %s: %s\n  printing the table instead", tool_id,
                    file, errno ? strerror(errno) : "out of memory");
    json_decref(root);
    return written;
}
