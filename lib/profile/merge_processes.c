/* SPDX-License-Identifier: MIT */
/* See merge_parts.h: the things that belong to one process each. No process is in both results. */
#include "profile/merge_parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_ints(int a, int b)
{
    return (a > b) - (a < b);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static int compare_processes(const void *mine, const void *its)
{
    const struct profile_process *a = mine, *b = its;
    return compare_ints(a->rank, b->rank);
}

/* No process is in both, but for files that somebody wrote by hand: then mine holds. */
static void add_process(void *mine, const void *its, const struct sides *sides)
{
    (void)mine;
    (void)sides;
    free(((const struct profile_process *)its)->host);
}

const struct merge_kind merge_processes = {sizeof(struct profile_process), compare_processes, NULL,
                                           add_process};

/* ---- Windows --------------------------------------------------------------------------------- */

static int compare_window_ranks(const void *mine, const void *its)
{
    const struct profile_window_rank *a = mine, *b = its;
    return compare_ints(a->rank, b->rank);
}

/* As with processes. */
static void add_window_rank(void *mine, const void *its, const struct sides *sides)
{
    struct profile_window_rank gone = *(const struct profile_window_rank *)its;
    (void)mine;
    (void)sides;
    profile_window_rank_clear(&gone);
}

const struct merge_kind merge_window_ranks = {sizeof(struct profile_window_rank),
                                              compare_window_ranks, NULL, add_window_rank};

/* ---- Calls under way ------------------------------------------------------------------------- */

/* The first one to begin is first: within it is the next. */
static int compare_flights(const void *mine, const void *its)
{
    const struct profile_flight *a = mine, *b = its;
    const int order = compare_ints(a->rank, b->rank);
    if (!order && a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return order ? order : strcmp(a->name, b->name);
}

/* No rank is in both, but for files that somebody wrote by hand: then mine holds. */
static void add_flight(void *mine, const void *its, const struct sides *sides)
{
    struct profile_flight gone = *(const struct profile_flight *)its;
    (void)mine;
    (void)sides;
    profile_flight_clear(&gone);
}

const struct merge_kind merge_flights = {sizeof(struct profile_flight), compare_flights, NULL,
                                         add_flight};
