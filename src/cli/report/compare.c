/* SPDX-License-Identifier: MIT */
/* qmpi report --compare: the limits of --fail-over, and the exit status. */
#define _GNU_SOURCE
#include "cli/report/report.h"

#include "cli/cli.h"
#include "util/util.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Limits ---------------------------------------------------------------------------------- */

static const char *find_name(const char *text, size_t length)
{
    for (int i = 0; profile_limit_names[i]; i++) {
        if (strlen(profile_limit_names[i]) == length &&
            !strncmp(profile_limit_names[i], text, length))
            return profile_limit_names[i];
    }
    return NULL;
}

/* "10", "2.5%". Only digits and a point, as in every locale. */
static bool read_percent(const char *text, double *percent)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    *percent = strtod(text, &end);
    return end - text == (ptrdiff_t)strspn(text, "0123456789.") && (!*end || !strcmp(end, "%"));
}

struct compare_limit *report_read_limits(const char *text, int *count, struct argp_state *state)
{
    struct compare_limit *limits = NULL;
    char *copy = qmpi_copy(text), *rest = copy, *part;
    *count = 0;
    while ((part = strsep(&rest, ","))) {
        const char *colon = strchr(part, ':');
        struct compare_limit limit = {profile_limit_names[0], 0};
        if (colon)
            limit.name = find_name(part, (size_t)(colon - part));
        if (!limit.name)
            cli_misuse(
                state,
                "--fail-over: unknown figure in '%s': time, mpi, efficiency, load-balance, "
                "communication, serialisation, transfer, calls, bytes and memory can have a limit",
                part);
        if (!read_percent(colon ? colon + 1 : part, &limit.percent))
            cli_misuse(state,
                       "--fail-over must be a percentage such as 10%%, or several such as "
                       "time:10%%,mpi:20%%, not '%s'",
                       text);
        limits = realloc(limits, ((size_t)*count + 1) * sizeof *limits);
        if (!limits)
            abort();
        limits[(*count)++] = limit;
    }
    free(copy);
    return limits;
}

/* ---- The comparison -------------------------------------------------------------------------- */

/* Whether a figure with a limit is known in all runs. */
static bool check_known(const struct profile_comparison *comparison)
{
    for (int i = 0; i < comparison->limit_count; i++) {
        const char *name = comparison->limits[i].name;
        for (int run = 1; run < comparison->run_count; run++) {
            if (!isnan(compare_worsening(comparison, name, run)))
                continue;
            qmpi_printf("%s: --fail-over=%s: the figure is unknown in this run or in the first "
                        "one\nhint: profile the runs again with this version of qmpi",
                        comparison->runs[run].name, name);
            return false;
        }
    }
    return true;
}

struct profile_comparison *report_compare(const struct report_runs *runs,
                                          const struct report_request *request)
{
    if (runs->count < 2) {
        qmpi_printf("--compare: all files belong to one run\n"
                    "hint: give the files of two runs or more");
        return NULL;
    }
    if (request->format == PROFILE_TEXT && runs->count > PROFILE_COMPARE_TEXT_MOST) {
        qmpi_printf("--compare: the files belong to %d runs, but text output supports at most %d\n"
                    "hint: choose another output format, such as --format=csv",
                    runs->count, PROFILE_COMPARE_TEXT_MOST);
        return NULL;
    }
    struct profile_named *named = report_name_runs(runs);
    struct profile_comparison *comparison = profile_compare(named, runs->count);
    free(named);
    if (!comparison) {
        qmpi_printf("out of memory");
        return NULL;
    }
    comparison->limits = request->limits;
    comparison->limit_count = request->limit_count;
    if (check_known(comparison))
        return comparison;
    profile_comparison_free(comparison);
    return NULL;
}

int report_check_limits(const struct profile_comparison *comparison)
{
    int status = 0;
    for (int i = 0; i < comparison->limit_count; i++) {
        const struct compare_limit *limit = &comparison->limits[i];
        for (int run = 1; run < comparison->run_count; run++) {
            if (!compare_exceeds(comparison, limit, run))
                continue;
            status = 1;
            char *percent = qmpi_format("%.1f", compare_worsening(comparison, limit->name, run));
            qmpi_printf("%s: %s is %s %% worse than in %s; the limit is %g %%",
                        comparison->runs[run].name, limit->name, percent, comparison->runs->name,
                        limit->percent);
            free(percent);
        }
    }
    return status;
}
