/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: waiting in many calls, each of which takes no longer than one that does not
 * wait may take. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"

#include <string.h>

/* The neighbor, by messages, that works most; -1: none. */
static int find_busiest(const struct finder *finder, int rank)
{
    const struct profile_result *result = finder->result;
    double most = -1;
    int busiest = -1;
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *it = &result->matrix[i];
        const int neighbor = it->from == rank ? it->to : it->to == rank ? it->from : -1;
        const double useful = neighbor < 0 ? -1 : finder_useful(finder, neighbor);
        if (useful > most) {
            most = useful;
            busiest = neighbor;
        }
    }
    return busiest;
}

/* More than its calls would take if each were as short as the shortest one. */
static struct finder_wait find_excess(const struct profile_callsite *site)
{
    struct finder_wait most = {-1, -1, 0};
    for (size_t i = 0; i < site->by_rank.count; i++) {
        const struct profile_rank_calls *it = &site->by_rank.all[i];
        const double excess = it->time - (double)it->calls * site->calls.shortest;
        if (excess > most.seconds)
            most = (struct finder_wait){it->rank, -1, excess};
    }
    return most;
}

/* A neighbor must work for longer: else the calls take long for another reason. */
struct finder_wait findings_short_waits(const struct finder *finder,
                                        const struct profile_callsite *site)
{
    const struct finder_wait none = {-1, -1, 0};
    const struct profile_function *function = finder_function(finder, site->name);
    if (!function || site->calls.polling > 0 ||
        (strcmp(function->group, "point-to-point") != 0 &&
         strcmp(function->group, "completion") != 0))
        return none;
    struct finder_wait wait = find_excess(site);
    wait.cause = wait.rank < 0 ? -1 : find_busiest(finder, wait.rank);
    if (wait.cause < 0 ||
        finder_useful(finder, wait.cause) - finder_useful(finder, wait.rank) < 0.5 * wait.seconds)
        return none;
    return wait;
}
