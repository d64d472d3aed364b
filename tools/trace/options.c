/* SPDX-License-Identifier: MIT */
/* See options.h. */
#define _GNU_SOURCE
#include "options.h"

#include "record/chunks.h"
#include "toolkit/toolkit.h"
#include "trace_manifest.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const QMPIX_Tool_option trace_options[] = TOOL_OPTIONS;

/* ---- Numbers --------------------------------------------------------------------------------- */

struct suffix {
    const char *name;
    double factor;
};

/* A number that is not negative, with one of the suffixes. */
static bool read_scaled(const char *text, const struct suffix *suffixes, double *value)
{
    struct tool_numbers numbers;
    char *end;
    tool_numbers_begin(&numbers);
    *value = strtod(text, &end);
    tool_numbers_end(&numbers);
    if (end == text || !((*text >= '0' && *text <= '9') || *text == '.') || !isfinite(*value))
        return false;
    while (suffixes->name && strcmp(suffixes->name, end) != 0)
        suffixes++;
    *value *= suffixes->factor;
    return suffixes->name != NULL;
}

static bool read_time(int tool_id, const char *key, double *seconds)
{
    static const struct suffix suffixes[] = {{"", 1},      {"s", 1},    {"ms", 1e-3},
                                             {"us", 1e-6}, {"min", 60}, {NULL, 0}};
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS)
        return true;
    if (read_scaled(value, suffixes, seconds) && *seconds < 1e9)
        return true;
    tool_option_fail(tool_id, key, value, "give a time such as 30s, 10ms or 2.5 (seconds)");
    return false;
}

static bool read_memory(int tool_id, uint64_t *bytes)
{
    static const struct suffix suffixes[] = {
        {"", 1},          {"K", 1024},       {"KiB", 1024},       {"M", 1048576},
        {"MiB", 1048576}, {"G", 1073741824}, {"GiB", 1073741824}, {NULL, 0}};
    const char *value = "64M";
    double given = 0;
    QMPIX_Tool_get_option(tool_id, "memory", &value);
    if (read_scaled(value, suffixes, &given) && given >= 1048576 && given <= 1e12) {
        *bytes = (uint64_t)given;
        return true;
    }
    tool_option_fail(tool_id, "memory", value, "give a size of at least 1M, such as 64M or 2G");
    return false;
}

static bool read_depth(int tool_id, int *depth)
{
    const char *value = "1";
    char *end;
    QMPIX_Tool_get_option(tool_id, "depth", &value);
    errno = 0;
    const long given = strtol(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && !errno && given >= 1 &&
        given <= TRACE_DEPTH_MAX) {
        *depth = (int)given;
        return true;
    }
    tool_option_fail(tool_id, "depth", value, "give a whole number from 1 to 32");
    return false;
}

static bool read_signal(int tool_id, int *number)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGUSR1", SIGUSR1},
                   {"SIGUSR2", SIGUSR2},
                   {"SIGHUP", SIGHUP},
                   {"SIGURG", SIGURG},
                   {"SIGWINCH", SIGWINCH}};
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, "save-signal", &value) != MPI_SUCCESS)
        return true;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!strcmp(value, signals[i].name)) {
            *number = signals[i].number;
            return true;
        }
    }
    tool_option_fail(tool_id, "save-signal", value,
                     "give SIGUSR1, SIGUSR2, SIGHUP, SIGURG or SIGWINCH");
    return false;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static bool read_functions(int tool_id, struct options *options)
{
    const char *value;
    options->all_chosen = QMPIX_Tool_get_option(tool_id, "functions", &value) != MPI_SUCCESS;
    if (options->all_chosen) {
        memset(options->chosen, 1, sizeof options->chosen);
        return true;
    }
    char *item = tool_functions_read(value, options->chosen);
    if (!item)
        return true;
    char *problem = qmpi_function_list_refuse("functions=", item);
    QMPIX_Tool_fail(tool_id, problem);
    free(problem);
    free(item);
    return false;
}

static bool read_ranks(int tool_id, struct options *options)
{
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, "ranks", &value) != MPI_SUCCESS ||
        qmpi_number_set_read(value, &options->ranks))
        return true;
    tool_option_fail(tool_id, "ranks", value, QMPI_NUMBER_SET_HINT);
    return false;
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool read_words(int tool_id, struct options *options)
{
    static const char *const formats[] = {"otf2", "perfetto", "json", "own", NULL};
    static const char *const fulls[] = {"wait", "drop", NULL};
    static const char *const buffers[] = {"file", "ring", NULL};
    static const char *const sites[] = {"no", "yes", NULL};
    static const char *const compress[] = {"yes", "no", NULL};
    int format = 0, full = 0, buffer = 0, with_sites = 0, plain = 0;
    if (!tool_option_word(tool_id, "format", formats, "give otf2, perfetto, json or own",
                          &format) ||
        !tool_option_word(tool_id, "full", fulls, "give wait or drop", &full) ||
        !tool_option_word(tool_id, "buffer", buffers, "give file or ring", &buffer) ||
        !tool_option_word(tool_id, "sites", sites, "give yes or no", &with_sites) ||
        !tool_option_word(tool_id, "compress", compress, "give yes or no", &plain))
        return false;
    options->format = (enum trace_format)format;
    options->drops = full == 1;
    options->is_ring = buffer == 1;
    options->sites = with_sites == 1;
    options->compress = !plain;
    return true;
}

/* Options that have no meaning without others. */
static bool fits(int tool_id, const struct options *options)
{
    const char *problem = NULL;
    if (!options->is_ring && (options->history > 0 || options->save_signal))
        problem = "keep= and save-signal= require buffer=ring\nhint: add buffer=ring";
    else if (options->depth > 1 && !options->sites)
        problem = "depth= requires sites=yes\nhint: add sites=yes";
    else if (options->end >= 0 && options->end <= options->begin)
        problem = "end= must be later than begin=\nhint: both are seconds after MPI_Init";
    if (problem)
        QMPIX_Tool_fail(tool_id, problem);
    return !problem;
}

bool trace_options_read(int tool_id, struct options *options)
{
    *options = (struct options){.end = -1, .interval = 0.01, .depth = 1};
    QMPIX_Tool_get_option(tool_id, "regions", &options->regions);
    QMPIX_Tool_get_option(tool_id, "counters", &options->counters);
    return tool_option_file(tool_id, "output", &options->output) && read_words(tool_id, options) &&
           read_memory(tool_id, &options->memory) &&
           read_time(tool_id, "keep", &options->history) &&
           read_time(tool_id, "begin", &options->begin) &&
           read_time(tool_id, "end", &options->end) &&
           read_time(tool_id, "interval", &options->interval) &&
           read_depth(tool_id, &options->depth) && read_signal(tool_id, &options->save_signal) &&
           read_functions(tool_id, options) && read_ranks(tool_id, options) &&
           fits(tool_id, options);
}
