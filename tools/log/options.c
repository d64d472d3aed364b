/* SPDX-License-Identifier: MIT */
/* See options.h. */
#define _GNU_SOURCE
#include "options.h"

#include "log_manifest.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const QMPIX_Tool_option log_options[] = TOOL_OPTIONS;

static bool fail(int tool_id, const char *key, const char *value, const char *hint)
{
    char *shown = qmpi_shorten(value);
    char *message = qmpi_message("invalid value %s=%s\n"
                                 "hint: %s",
                                 key, shown, hint);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
    return false;
}

/* ---- Numbers and words ----------------------------------------------------------------------- */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit sizes[] = {{"", 1},        {"k", 1 << 10}, {"K", 1 << 10},
                                    {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct unit times[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

/* A whole number and one of the units. */
static bool parse(const char *text, const struct unit *unit, uint64_t *number)
{
    char *end;
    errno = 0;
    const unsigned long long given = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno)
        return false;
    while (unit->name && strcmp(end, unit->name) != 0)
        unit++;
    return unit->name && !__builtin_mul_overflow(given, unit->factor, number);
}

static bool read_size(int tool_id, const char *key, uint64_t *size)
{
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS || parse(value, sizes, size))
        return true;
    return fail(tool_id, key, value, "give a number of bytes, as in 4096, 64k, 1M or 2G");
}

static bool read_time(int tool_id, const char *key, uint64_t *time)
{
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS ||
        (parse(value, times, time) && *time > 0))
        return true;
    return fail(tool_id, key, value, "give a whole number and its unit, as in 10us, 5ms or 1s");
}

static bool read_count(int tool_id, const char *key, int *count)
{
    static const struct unit plain[] = {{"", 1}, {NULL, 0}};
    const char *value;
    uint64_t number = 0;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS)
        return true;
    if (!parse(value, plain, &number) || number > 1000000)
        return fail(tool_id, key, value, "give a whole number from 0 to 1000000");
    *count = (int)number;
    return true;
}

/* The place of the value in `words`, which ends in NULL. */
static bool read_word(int tool_id, const char *key, const char *const *words, const char *hint,
                      int *place)
{
    const char *value = words[0];
    QMPIX_Tool_get_option(tool_id, key, &value);
    for (*place = 0; words[*place]; ++*place) {
        if (!strcmp(value, words[*place]))
            return true;
    }
    return fail(tool_id, key, value, hint);
}

static bool read_answer(int tool_id, const char *key, bool usual, bool *answer)
{
    static const char *const answers[] = {"no", "yes", "no", NULL};
    int place = 0;
    if (!read_word(tool_id, key, answers + usual, "give yes or no", &place))
        return false;
    *answer = (place + usual) == 1;
    return true;
}

/* ---- What is chosen -------------------------------------------------------------------------- */

static bool fail_item(int tool_id, const char *key, char *item, const char *problem,
                      const char *hint)
{
    char *shown = qmpi_shorten(item);
    char *message = qmpi_message("%s=: '%s' is %s\nhint: %s", key, shown, problem, hint);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
    free(item);
    return false;
}

static bool read_functions(int tool_id, struct options *options)
{
    const char *value;
    char *wrong;
    memset(options->chosen, 1, sizeof options->chosen);
    if (QMPIX_Tool_get_option(tool_id, "functions", &value) != MPI_SUCCESS ||
        !(wrong = choose_functions(value, options->chosen)))
        return true;
    return fail_item(tool_id, "functions", wrong, "not a function or group of this MPI",
                     "give names as `qmpi functions` lists them, patterns such as MPI_I*, or "
                     "point-to-point, completion, collective, one-sided, io, datatype, "
                     "communicator, group, topology, environment, info, process, "
                     "tool-information; separate them with ;");
}

static bool read_ranks(int tool_id, struct options *options)
{
    const char *value;
    char *wrong;
    if (QMPIX_Tool_get_option(tool_id, "ranks", &value) != MPI_SUCCESS ||
        !(wrong = choose_ranks(value, &options->ranks)))
        return true;
    return fail_item(tool_id, "ranks", wrong, "not a rank", "give ranks as in 0;2;4-7");
}

static bool read_output(int tool_id, struct options *options)
{
    if (QMPIX_Tool_get_option(tool_id, "output", &options->output) != MPI_SUCCESS)
        return true;
    char *name = *options->output ? tool_file_name(options->output, tool_id, 0) : NULL;
    if (!name)
        return fail(tool_id, "output", options->output,
                    "give a file name; %r %p %t %h are placeholders, and %% is a percent sign");
    free(name);
    return true;
}

bool log_options_read(int tool_id, struct options *options)
{
    static const char *const errors[] = {"no", "only", NULL};
    static const char *const whens[] = {"offset", "clock", "none", NULL};
    int only = 0, when = 0;
    *options = (struct options){.max_size = UINT64_MAX, .array = 8, .strings = 64};
    if (!read_functions(tool_id, options) || !read_ranks(tool_id, options) ||
        !read_size(tool_id, "min-size", &options->min_size) ||
        !read_size(tool_id, "max-size", &options->max_size) ||
        !read_word(tool_id, "errors", errors, "give only or no", &only) ||
        !read_time(tool_id, "min-time", &options->min_time) ||
        !read_answer(tool_id, "enter", false, &options->enter) ||
        !read_time(tool_id, "stuck", &options->hang) ||
        !read_word(tool_id, "time", whens, "give offset, clock or none", &when) ||
        !read_answer(tool_id, "caller", false, &options->caller) ||
        !read_answer(tool_id, "args", true, &options->arguments) ||
        !read_count(tool_id, "array", &options->array) ||
        !read_count(tool_id, "strings", &options->strings) || !read_output(tool_id, options))
        return false;
    options->errors = only == 1;
    options->when = (enum when)when;
    return true;
}
