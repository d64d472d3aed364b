/* SPDX-License-Identifier: MIT */
/* See options.h. */
#define _GNU_SOURCE
#include "options.h"

#include "profile_manifest.h"
#include "save/page.h"
#include "toolkit/toolkit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const QMPIX_Tool_option profile_options[] = TOOL_OPTIONS;

static bool read_number(int tool_id, const char *key, int least, int most, int *number)
{
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS)
        return true;
    char *end;
    errno = 0;
    const long long given = strtoll(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && !errno && given >= least && given <= most) {
        *number = (int)given;
        return true;
    }
    char hint[128];
    snprintf(hint, sizeof hint, "give a whole number from %d to %d", least, most);
    tool_option_fail(tool_id, key, value, hint);
    return false;
}

static bool find_page_writer(int tool_id, struct options *options)
{
    char *problem;
    options->write_page = page_find_writer(&problem);
    if (!options->write_page)
        QMPIX_Tool_fail(tool_id, problem ? problem : "out of memory");
    free(problem);
    return options->write_page;
}

static bool read_output(int tool_id, struct options *options)
{
    const char *given;
    int format = 0;
    if (!tool_option_file(tool_id, "output", &options->output) ||
        !tool_option_word(tool_id, "format", profile_format_names, "give text, json, csv or html",
                          &format))
        return false;
    const bool is_given = QMPIX_Tool_get_option(tool_id, "format", &given) == MPI_SUCCESS;
    options->format = is_given ? (enum profile_format)format : profile_format_of(options->output);
    if (options->format == PROFILE_HTML && !find_page_writer(tool_id, options))
        return false;
    if (options->output || options->format == PROFILE_TEXT)
        return true;
    QMPIX_Tool_fail(tool_id, "format= requires a file; only the table can go to stderr\n"
                             "hint: name a file with output=FILE");
    return false;
}

bool profile_options_read(int tool_id, struct options *options)
{
    static const char *const answers[] = {"no", "yes", NULL};
    static const char *const ranks[] = {"outliers", "all", NULL};
    int sync = 0, path = 0, all = 0;
    *options = (struct options){
        .top = 20, .depth = 1, .thresholds = {PROFILE_THRESHOLD, PROFILE_INIT_THRESHOLD}};
    if (!tool_option_word(tool_id, "ranks", ranks, "give outliers or all", &all) ||
        !tool_option_word(tool_id, "sync", answers, "give yes or no", &sync) ||
        !tool_option_word(tool_id, "path", answers, "give yes or no", &path) ||
        !read_number(tool_id, "top", 0, 1000000, &options->top) ||
        !read_number(tool_id, "depth", 1, PROFILE_DEPTH_MAX, &options->depth) ||
        !read_number(tool_id, "threshold", 1, 100, &options->thresholds.any) ||
        !read_number(tool_id, "init-threshold", 1, 100, &options->thresholds.init) ||
        !read_number(tool_id, "checkpoint", 1, 1000000, &options->checkpoint))
        return false;
    options->sync = sync == 1;
    options->path = path == 1;
    options->every_rank = all == 1;
    return read_output(tool_id, options);
}
