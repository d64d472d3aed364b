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

bool profile_combine_fits(const struct profile_result *result, const struct profile_result *other)
{
    time_t its, mine;
    if (other->rank < 0 || (result->rank < 0 && !result->termination) ||
        result->tool_id != other->tool_id || strcmp(result->program, other->program) != 0 ||
        strcmp(result->mpi, other->mpi) != 0)
        return false;
    if (read_time(result->begin, &mine) && read_time(other->begin, &its) &&
        fabs(difftime(mine, its)) >= APART)
        return false;
    if (result->rank == other->rank)
        return false;
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].rank == other->rank)
            return false;
    }
    return true;
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
    char *both;
    mine = mine ? mine : "unknown";
    its = its ? its : "unknown";
    if (names_termination(mine, its))
        return strdup(mine);
    return asprintf(&both, "%s, %s", mine, its) < 0 ? NULL : both;
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
