/* SPDX-License-Identifier: MIT */
/* See layer.h. */
#define _GNU_SOURCE
#include "tools/log/layer.h"

#include "toolkit/toolkit.h"
#include "tools/log_manifest.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct layer *layer_list;
int log_layer_count;
uint64_t log_start;
uint64_t log_start_local;
pid_t log_owner;

const QMPIX_Tool_option layer_known_options[] = TOOL_OPTIONS;

/* Returns the message about an item of functions= that matches no function. */
static char *refuse_item(const char *item)
{
    char *shown = qmpi_message_shorten(item);
    char *message = qmpi_message("functions=: '%s' is not a function or group of this MPI\n"
                                 "hint: give names as `qmpi functions` lists them, patterns such "
                                 "as MPI_I*, or " QMPI_VALUE_GROUPS "; separate them with ;",
                                 shown);
    free(shown);
    return message;
}

static bool read_functions_option(int tool_id, struct layer_options *options)
{
    unsigned char listed[MPI_LAST_FUNC];
    const char *value;
    memset(options->chosen, 1, sizeof options->chosen);
    if (QMPIX_Tool_get_option(tool_id, "functions", &value) != MPI_SUCCESS)
        return true;
    char *wrong = tool_option_functions(value, listed);
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        options->chosen[number] = listed[number] != 0;
    if (!wrong)
        return true;
    /* An empty item means that the list as a whole selects no function. */
    char *problem = *wrong ? refuse_item(wrong) : qmpi_value_refuse_functions("functions=", wrong);
    QMPIX_Tool_fail(tool_id, problem);
    free(problem);
    free(wrong);
    return false;
}

bool layer_options_read(int tool_id, struct layer_options *options)
{
    static const char *const errors[] = {"no", "only", NULL};
    static const char *const times[] = {"offset", "clock", "none", NULL};
    int only = 0, time = 0;
    *options = (struct layer_options){.max_size = UINT64_MAX};
    if (!read_functions_option(tool_id, options) ||
        !tool_option_set(tool_id, "ranks", &options->ranks) ||
        !tool_option_size(tool_id, "min-size", NULL, 0, UINT64_MAX, &options->min_size) ||
        !tool_option_size(tool_id, "max-size", NULL, 0, UINT64_MAX, &options->max_size) ||
        !tool_option_word(tool_id, "errors", errors, "give only or no", &only) ||
        !tool_option_time(tool_id, "min-time", "above 0", 1, UINT64_MAX, &options->min_time) ||
        !tool_option_boolean(tool_id, "enter", &options->enter) ||
        !tool_option_time(tool_id, "stuck", "above 0", 1, UINT64_MAX, &options->stuck) ||
        !tool_option_word(tool_id, "time", times, "give offset, clock or none", &time) ||
        !tool_option_boolean(tool_id, "caller", &options->caller) ||
        !tool_option_boolean(tool_id, "args", &options->arguments) ||
        !tool_option_whole(tool_id, "array", 0, 1000000, &options->array) ||
        !tool_option_whole(tool_id, "strings", 0, 1000000, &options->strings) ||
        !tool_option_file(tool_id, "output", &options->output))
        return false;
    options->errors = only == 1;
    options->time = (enum prefix_time)time;
    return true;
}
