/* SPDX-License-Identifier: MIT */
/* See text.h: the head, the table of functions, and the order of the tables. */
#define _GNU_SOURCE
#include "profile/text.h"

#include "profile/atomic_file.h"
#include "profile/columns.h"
#include "profile/efficiency.h"
#include "profile/text_parts.h"
#include "profile/units.h"
#include "util/util.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

size_t text_shown(size_t count, int top)
{
    return top > 0 && (size_t)top < count ? (size_t)top : count;
}

void text_rest(FILE *stream, size_t count, int top, const char *what)
{
    const size_t rest = count - text_shown(count, top);
    if (rest)
        fprintf(stream, "(%zu more %s)\n", rest, what);
}

/* ---- Head ------------------------------------------------------------------------------------ */

/* How it came that these are not the figures of all ranks. */
static const char *describe_termination(const struct profile_result *result)
{
    if (!strcmp(result->termination, PROFILE_SESSIONS_ENDED))
        return result->rank >= 0 ? ", which reported separately: " : " that reported separately: ";
    if (result->rank < 0)
        return " that did not reach MPI_Finalize: ";
    return strcmp(result->termination, "checkpoint") ? ", which ended without MPI_Finalize: "
                                                     : ", which was still running: a ";
}

/* Whose figures these are. */
static bool print_subject(FILE *stream, const struct profile_result *result)
{
    struct columns lines;
    columns_start(&lines, "l");
    const char *termination = result->termination ? result->termination : "";
    const char *described = result->termination ? describe_termination(result) : "";
    if (result->rank >= 0)
        columns_note(&lines, "profile (layer %d): rank %d alone%s%s", result->tool_id, result->rank,
                     described, termination);
    else
        columns_note(&lines, "profile (layer %d): %d rank%s%s%s", result->tool_id, result->ranks,
                     result->ranks == 1 ? "" : "s", described, termination);
    columns_note(&lines, "program  %s", result->program ? result->program : "");
    columns_note(&lines, "started  %s", result->begin ? result->begin : "");
    columns_note(&lines, "MPI      %s", result->mpi ? result->mpi : "");
    return columns_print(&lines, stream);
}

void text_add_extremes(struct columns *columns, const struct profile_spread *spread)
{
    const double values[] = {spread->min, spread->max};
    const int ranks[] = {spread->min_rank, spread->max_rank};
    for (int i = 0; i < 2; i++) {
        columns_add(columns, "%s", units_time(values[i]));
        if (ranks[i] >= 0)
            columns_add(columns, "%d", ranks[i]);
        else
            columns_add(columns, "%s", "");
    }
}

static void add_spread(struct columns *columns, const char *name,
                       const struct profile_spread *spread, const char *share)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%s", units_time(spread->sum));
    columns_add(columns, "%s", share);
    columns_add(columns, "%s", units_time(spread->mean));
    text_add_extremes(columns, spread);
    columns_add(columns, "%s", units_time(spread->stddev));
}

static double most_memory(const struct profile_result *result)
{
    double most = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const double memory = (double)result->processes[i].memory;
        most = memory > most ? memory : most;
    }
    return most;
}

static bool print_head(FILE *stream, const struct profile_result *result)
{
    static const char *const headings[] = {"",   "all ranks", "%",  "mean rank", "min",
                                           "on", "max",       "on", "stddev",    NULL};
    struct columns columns;
    if (!print_subject(stream, result))
        return false;
    fputc('\n', stream);
    columns_start(&columns, "lrrrrrrrr");
    columns_add_all(&columns, headings);
    add_spread(&columns, "application time", &result->application, "100.0");
    add_spread(&columns, "time in MPI", &result->time,
               units_percent(result->time.sum, result->application.sum));
    if (result->process_count)
        columns_note(&columns, "peak memory of a process: %s", units_bytes(most_memory(result)));
    return columns_print(&columns, stream);
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

static void add_ratio(struct columns *columns, const char *name, double value, const char *meaning)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%.3f", value);
    columns_add(columns, "%s", meaning);
}

static bool print_efficiency(FILE *stream, const struct profile_result *result)
{
    struct profile_efficiency it;
    struct columns columns;
    char meaning[96];
    if (!profile_efficiency_find(result, NULL, &it))
        return true;
    fprintf(stream, "\nEfficiency (POP model): 1 is ideal, less than 0.8 is worth a look\n");
    columns_start(&columns, "lrl");
    snprintf(meaning, sizeof meaning, "mean rank: %s of %s outside MPI", units_time(it.mean),
             units_time(it.elapsed));
    add_ratio(&columns, "parallel efficiency", it.parallel, meaning);
    snprintf(meaning, sizeof meaning, "mean %s, most %s on rank %d", units_time(it.mean),
             units_time(it.most), it.most_rank);
    add_ratio(&columns, "  load balance", it.balance, meaning);
    if (it.nodes > 1) {
        snprintf(meaning, sizeof meaning, "%d nodes", it.nodes);
        add_ratio(&columns, "    between nodes", it.between_nodes, meaning);
        add_ratio(&columns, "    within nodes", it.within_nodes, "");
    }
    snprintf(meaning, sizeof meaning, "rank %d: %s of %s outside MPI", it.most_rank,
             units_time(it.most), units_time(it.elapsed));
    add_ratio(&columns, "  communication", it.communication, meaning);
    return columns_print(&columns, stream);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void add_function(struct columns *columns, const char *name,
                         const struct profile_calls *calls, double time, bool spread)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%llu", (unsigned long long)calls->calls);
    columns_add(columns, "%s", units_time(calls->time.sum));
    columns_add(columns, "%s", units_percent(calls->time.sum, time));
    columns_add(columns, "%s", units_time(calls->time.mean));
    if (spread)
        text_add_extremes(columns, &calls->time);
    else
        columns_add_all(columns, (const char *const[]){"", "", "", "", NULL});
    columns_add(columns, "%s", spread ? units_time(calls->time.stddev) : "");
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
}

/* What can be added up: minima, maxima and deviations cannot. */
static void add_up(struct profile_calls *all, const struct profile_calls *one)
{
    all->calls += one->calls;
    all->time.sum += one->time.sum;
    all->time.mean += one->time.mean;
    all->sent += one->sent;
    all->received += one->received;
}

double text_time(const struct profile_function *functions, size_t count)
{
    double time = 0;
    for (size_t i = 0; i < count; i++)
        time += functions[i].calls.time.sum;
    return time;
}

bool text_functions(FILE *stream, const struct profile_function *functions, size_t count, int top)
{
    static const char *const headings[] = {"function", "calls",    "time", "%",  "mean rank",
                                           "min",      "on",       "max",  "on", "stddev",
                                           "sent",     "received", NULL};
    const size_t shown = text_shown(count, top);
    const double time = text_time(functions, count);
    struct profile_calls rest = {0}, all = {0};
    struct columns columns;
    columns_start(&columns, "lrrrrrrrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < count; i++) {
        if (i < shown)
            add_function(&columns, functions[i].name, &functions[i].calls, time, true);
        else
            add_up(&rest, &functions[i].calls);
        add_up(&all, &functions[i].calls);
    }
    if (count > shown) {
        char name[64];
        snprintf(name, sizeof name, "(%zu more)", count - shown);
        add_function(&columns, name, &rest, time, false);
    }
    if (count > 1)
        add_function(&columns, "total", &all, time, false);
    return columns_print(&columns, stream);
}

static bool print_functions(FILE *stream, const struct profile_result *result, int top)
{
    fprintf(stream, "\nFunctions: time of all ranks, and the least and most of a rank\n");
    if (!result->function_count)
        fprintf(stream, "(no calls)\n");
    if (result->function_count &&
        !text_functions(stream, result->functions, result->function_count, top))
        return false;
    if (result->unfinished_receives)
        fprintf(stream,
                "(the completion of %llu nonblocking or persistent receive%s was not seen:\n"
                "their data is not counted)\n",
                (unsigned long long)result->unfinished_receives,
                result->unfinished_receives == 1 ? "" : "s");
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool profile_print_text(FILE *stream, const struct profile_result *result, unsigned sections,
                        int top)
{
#define WANTS(SECTION) (sections & PROFILE_##SECTION)
    return print_head(stream, result) && print_efficiency(stream, result) &&
           (!WANTS(FLIGHTS) || text_flights(stream, result, top)) &&
           (!WANTS(FUNCTIONS) || print_functions(stream, result, top)) &&
           (!WANTS(CALLSITES) || text_callsites(stream, result, top)) &&
           (!WANTS(HISTOGRAMS) || text_histograms(stream, result)) &&
           (!WANTS(MATRIX) || text_matrix(stream, result, top)) &&
           (!WANTS(WAITS) || text_waits(stream, result, top)) &&
           (!WANTS(COMMUNICATORS) || text_communicators(stream, result, top)) &&
           (!WANTS(FILES) || text_files(stream, result, top)) &&
           (!WANTS(REGIONS) || text_regions(stream, result, top)) &&
           (!WANTS(PROCESSES) || text_processes(stream, result, top));
#undef WANTS
}

/* In one piece, so that other processes' lines do not come in between. */
static bool say(const struct profile_result *result, int top)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream != NULL;
    const locale_t numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = numbers ? uselocale(numbers) : (locale_t)0;
    good = good && profile_print_text(stream, result, PROFILE_EVERYTHING, top);
    if (stream && fclose(stream) != 0)
        good = false;
    if (good)
        qmpi_print(text);
    if (numbers) {
        uselocale(before);
        freelocale(numbers);
    }
    free(text);
    return good;
}

bool profile_write_text(const struct profile_result *result, const char *path, int top,
                        char **problem)
{
    struct profile_output output;
    *problem = NULL;
    if (!path) {
        if (say(result, top))
            return true;
        *problem = strdup("cannot print the table: out of memory");
        return false;
    }
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_text(output.stream, result, PROFILE_EVERYTHING, top);
    return profile_output_close(&output, good, problem);
}
