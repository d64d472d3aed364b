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
#include <sys/ioctl.h>
#include <unistd.h>

size_t text_shown(const struct text *text, size_t count)
{
    return text->top > 0 && (size_t)text->top < count ? (size_t)text->top : count;
}

void text_rest(const struct text *text, size_t count, const char *what)
{
    const size_t rest = count - text_shown(text, count);
    if (rest)
        fprintf(text->stream, "(%zu more %s)\n", rest, what);
}

void text_add_share(struct columns *columns, const struct text *text, double time)
{
    columns_add(columns, "%s", units_percent(time, text->result->application.sum));
}

bool text_has_share(const char *function)
{
    return strcmp(function, "MPI_Init") != 0 && strcmp(function, "MPI_Init_thread") != 0;
}

void text_add_share_of(struct columns *columns, const struct text *text, const char *function,
                       double time)
{
    if (text_has_share(function))
        text_add_share(columns, text, time);
    else
        columns_add(columns, "-");
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

/* ---- Head ------------------------------------------------------------------------------------ */

/* How it came that these are not the figures of all ranks. */
static const char *describe_termination(const char *termination)
{
    if (!strcmp(termination, PROFILE_SESSIONS_ENDED))
        return "each process reported separately: ";
    return strcmp(termination, "checkpoint") ? "without MPI_Finalize: " : "not yet: ";
}

/* Whose figures these are. */
static bool print_subject(const struct text *text)
{
    const struct profile_result *result = text->result;
    struct columns lines;
    columns_start(&lines, "l");
    if (result->rank >= 0)
        columns_note(&lines, "profile (layer %d): rank %d alone", result->tool_id, result->rank);
    else
        columns_note(&lines, "profile (layer %d): %d rank%s", result->tool_id, result->ranks,
                     result->ranks == 1 ? "" : "s");
    columns_note(&lines, "program  %s", result->program ? result->program : "");
    columns_note(&lines, "started  %s", result->begin ? result->begin : "");
    columns_note(&lines, "MPI      %.*s", text->width - 9, result->mpi ? result->mpi : "");
    if (result->termination)
        columns_note(&lines, "ended    %s%s", describe_termination(result->termination),
                     result->termination);
    return columns_print(&lines, text->stream, text->width);
}

static void add_spread(struct columns *columns, const struct text *text, const char *name,
                       const struct profile_spread *spread)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%s", units_time(spread->sum));
    text_add_share(columns, text, spread->sum);
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

static bool print_head(const struct text *text)
{
    static const char *const headings[] = {"",   "all ranks", "%",  "mean rank", "min",
                                           "on", "max",       "on", "stddev",    NULL};
    const struct profile_result *result = text->result;
    struct columns columns;
    if (!print_subject(text) || !text_findings(text))
        return false;
    fputc('\n', text->stream);
    columns_start(&columns, "lrrrrrrrr");
    columns_set_optional(&columns, "........1");
    columns_add_all(&columns, headings);
    add_spread(&columns, text, "application time", &result->application);
    add_spread(&columns, text, "time in MPI", &result->time);
    columns_note(&columns, "percentages: of the application time of all ranks, %s",
                 units_time(result->application.sum));
    if (result->process_count)
        columns_note(&columns, "peak memory of a process: %s", units_bytes(most_memory(result)));
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

static void add_ratio(struct columns *columns, const char *name, double value, const char *meaning)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%.3f", value);
    columns_add(columns, "%s", meaning);
}

static bool print_efficiency(const struct text *text)
{
    struct profile_efficiency it;
    struct columns columns;
    char meaning[96];
    if (!profile_efficiency_find(text->result, NULL, &it))
        return true;
    fprintf(text->stream, "\nEfficiency (POP model): 1 is ideal, less than 0.8 is worth a look\n");
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
    if (it.has_path) {
        snprintf(meaning, sizeof meaning, "rank %d works %s, the critical path is %s", it.most_rank,
                 units_time(it.most), units_time(it.path));
        add_ratio(&columns, "    serialisation", it.serialisation, meaning);
        snprintf(meaning, sizeof meaning, "%s of %s", units_time(it.path), units_time(it.elapsed));
        add_ratio(&columns, "    transfer", it.transfer, meaning);
    }
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* What can be added up: minima, maxima and deviations cannot. */
struct sum {
    struct profile_calls calls;
    double application; /* the part of the time that is in the application time */
};

static void add_up(struct sum *sum, const struct profile_function *function)
{
    const struct profile_calls *calls = &function->calls;
    sum->calls.calls += calls->calls;
    sum->calls.time.sum += calls->time.sum;
    sum->calls.time.mean += calls->time.mean;
    sum->calls.sent += calls->sent;
    sum->calls.received += calls->received;
    sum->application += text_has_share(function->name) ? calls->time.sum : 0;
}

static void add_bytes(struct columns *columns, const struct profile_calls *calls)
{
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
}

static void add_function(struct columns *columns, const struct text *text,
                         const struct profile_function *function)
{
    const struct profile_calls *calls = &function->calls;
    columns_add(columns, "%s", function->name);
    columns_add(columns, "%llu", (unsigned long long)calls->calls);
    columns_add(columns, "%s", units_time(calls->time.sum));
    text_add_share_of(columns, text, function->name, calls->time.sum);
    columns_add(columns, "%s", units_time(calls->time.mean));
    text_add_extremes(columns, &calls->time);
    columns_add(columns, "%s", units_time(calls->time.stddev));
    add_bytes(columns, calls);
}

static void add_sum(struct columns *columns, const struct text *text, const char *name,
                    const struct sum *sum)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%llu", (unsigned long long)sum->calls.calls);
    columns_add(columns, "%s", units_time(sum->calls.time.sum));
    text_add_share(columns, text, sum->application);
    columns_add(columns, "%s", units_time(sum->calls.time.mean));
    columns_add_all(columns, (const char *const[]){"", "", "", "", "", NULL});
    add_bytes(columns, &sum->calls);
}

bool text_functions(const struct text *text, const struct profile_function *functions, size_t count)
{
    static const char *const headings[] = {"function", "calls",    "time", "%",  "mean rank",
                                           "min",      "on",       "max",  "on", "stddev",
                                           "sent",     "received", NULL};
    const size_t shown = text_shown(text, count);
    struct sum rest = {.application = 0}, all = {.application = 0};
    struct columns columns;
    columns_start(&columns, "lrrrrrrrrrrr");
    columns_set_optional(&columns, "....2....133");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < count; i++) {
        if (i < shown)
            add_function(&columns, text, &functions[i]);
        else
            add_up(&rest, &functions[i]);
        add_up(&all, &functions[i]);
    }
    if (count > shown) {
        char name[64];
        snprintf(name, sizeof name, "(%zu more)", count - shown);
        add_sum(&columns, text, name, &rest);
    }
    if (count > 1)
        add_sum(&columns, text, "total", &all);
    return columns_print(&columns, text->stream, text->width);
}

static bool print_functions(const struct text *text)
{
    const struct profile_result *result = text->result;
    fprintf(text->stream, "\nFunctions: time of all ranks, and the least and most of a rank\n");
    if (!result->function_count)
        fprintf(text->stream, "(no calls)\n");
    if (result->function_count && !text_functions(text, result->functions, result->function_count))
        return false;
    if (result->unfinished_receives)
        fprintf(text->stream,
                "(the completion of %llu nonblocking or persistent receive%s was not seen:\n"
                "their data is not counted)\n",
                (unsigned long long)result->unfinished_receives,
                result->unfinished_receives == 1 ? "" : "s");
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool profile_print_text(FILE *stream, const struct profile_result *result, unsigned sections,
                        const struct profile_layout *layout)
{
    const struct text text = {stream, result, layout->top, layout->width};
#define WANTS(SECTION) (sections & PROFILE_##SECTION)
    return print_head(&text) && print_efficiency(&text) &&
           (!WANTS(OVER_TIME) || text_windows(&text, sections == PROFILE_EVERYTHING)) &&
           (!WANTS(FLIGHTS) || text_flights(&text)) &&
           (!WANTS(FUNCTIONS) || print_functions(&text)) &&
           (!WANTS(CALLSITES) || text_callsites(&text)) &&
           (!WANTS(HISTOGRAMS) || text_histograms(&text)) &&
           (!WANTS(MATRIX) || text_matrix(&text)) &&
           (!WANTS(WAITS) || (text_waits(&text) && text_peer_waits(&text))) &&
           (!WANTS(COMMUNICATORS) || text_communicators(&text)) &&
           (!WANTS(FILES) || text_files(&text)) && (!WANTS(REGIONS) || text_regions(&text)) &&
           (!WANTS(PROCESSES) || text_processes(&text));
#undef WANTS
}

int profile_text_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > PROFILE_TEXT_WIDTH
               ? size.ws_col
               : PROFILE_TEXT_WIDTH;
}

enum { MESSAGE_PREFIX = 6 }; /* "qmpi: " */

/* In one piece, so that other processes' lines do not come in between. */
static bool say(const struct profile_result *result, int top)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream != NULL;
    const locale_t numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = numbers ? uselocale(numbers) : (locale_t)0;
    const struct profile_layout layout = {top, profile_text_width(STDERR_FILENO) - MESSAGE_PREFIX};
    good = good && profile_print_text(stream, result, PROFILE_EVERYTHING, &layout);
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
    const struct profile_layout layout = {top, PROFILE_TEXT_WIDTH};
    const bool good = profile_print_text(output.stream, result, PROFILE_EVERYTHING, &layout);
    return profile_output_close(&output, good, problem);
}
