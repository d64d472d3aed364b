/* SPDX-License-Identifier: MIT */
/* See combine.h. */
#define _GNU_SOURCE
#include "profile/combine.h"

#include "profile/merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { APART = 60 }; /* seconds: processes start one after the other, and clocks differ */

/* ---- Whether --------------------------------------------------------------------------------- */

static bool read_time(const char *text, time_t *seconds)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (end)
        *seconds = timegm(&parts);
    return end != NULL;
}

static bool began_together(const char *begin, const char *other)
{
    time_t its, mine;
    return !read_time(begin, &mine) || !read_time(other, &its) || fabs(difftime(mine, its)) < APART;
}

static bool has_rank(const struct profile_result *result, int rank)
{
    bool found = result->rank == rank;
    for (size_t i = 0; i < result->process_count && !found; i++)
        found = result->processes[i].rank == rank;
    return found;
}

/* All but when they began, and which ranks they have. */
static bool is_same_run(const struct profile_result *result, const struct profile_result *other)
{
    return other->rank >= 0 && (result->rank >= 0 || result->termination) &&
           result->tool_id == other->tool_id && !strcmp(result->program, other->program) &&
           !strcmp(result->mpi, other->mpi);
}

bool profile_combine_fits(const struct profile_result *result, const struct profile_result *other)
{
    return is_same_run(result, other) && began_together(result->begin, other->begin) &&
           !has_rank(result, other->rank);
}

/* ---- Joining --------------------------------------------------------------------------------- */

static bool names_termination(const char *terminations, const char *its)
{
    const size_t length = strlen(its);
    for (const char *at = terminations; (at = strstr(at, its)); at += length) {
        if ((at == terminations || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return true;
    }
    return false;
}

/* Each different ending once, in the order in which they came. NULL: memory is out. */
static char *combine_terminations(const char *mine, const char *its)
{
    char *both = strdup(mine ? mine : "unknown"), *rest = strdup(its ? its : "unknown");
    for (char *next = rest, *name; both && next && (name = strsep(&next, ","));) {
        char *longer;
        name += *name == ' ';
        if (names_termination(both, name))
            continue;
        if (asprintf(&longer, "%s, %s", both, name) < 0)
            longer = NULL;
        free(both);
        both = longer;
    }
    if (!rest) {
        free(both);
        both = NULL;
    }
    free(rest);
    return both;
}

static void replace(char **text, char *other)
{
    free(*text);
    *text = other;
}

bool profile_combine(struct profile_result *result, struct profile_result *other)
{
    const bool earlier = strcmp(other->begin, result->begin) < 0;
    char *termination = combine_terminations(result->termination, other->termination);
    char *begin = strdup(earlier ? other->begin : result->begin);
    if (!termination || !begin) {
        profile_result_free(other);
    } else if (profile_merge(result, other)) {
        replace(&result->termination, termination);
        replace(&result->begin, begin);
        return true;
    }
    free(termination);
    free(begin);
    return false;
}

/* ---- Several files --------------------------------------------------------------------------- */

bool profile_combination_fits(const struct profile_combination *combination,
                              const struct profile_result *other)
{
    const char *begin = combination->parts[0]->begin;
    for (int i = 0; i < combination->count; i++) {
        const struct profile_result *part = combination->parts[i];
        if (!is_same_run(part, other) || has_rank(part, other->rank))
            return false;
        begin = strcmp(part->begin, begin) < 0 ? part->begin : begin;
    }
    return began_together(begin, other->begin);
}

/* The last two parts become one. */
static bool combine_last(struct profile_combination *combination)
{
    const int last = --combination->count;
    combination->files[last - 1] += combination->files[last];
    return profile_combine(combination->parts[last - 1], combination->parts[last]);
}

bool profile_combination_add(struct profile_combination *combination, struct profile_result *other)
{
    bool good = true;
    combination->parts[combination->count] = other;
    combination->files[combination->count++] = 1;
    while (combination->count > 1 &&
           combination->files[combination->count - 2] <= combination->files[combination->count - 1])
        good = combine_last(combination) && good;
    return good;
}

bool profile_combination_finish(struct profile_combination *combination)
{
    bool good = true;
    while (combination->count > 1)
        good = combine_last(combination) && good;
    return good;
}
