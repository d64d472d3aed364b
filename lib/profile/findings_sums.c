/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: what ranks do in several functions together. */
#include "profile/findings_parts.h"

#include <stdlib.h>
#include <string.h>

/* Adds the calls of a function by rank; `sums` has room for all ranks of the result. */
static void add_ranks(struct rank_sum *sums, int ranks, const struct profile_by_rank *by_rank)
{
    for (size_t i = 0; i < by_rank->count; i++) {
        const struct profile_rank_calls *it = &by_rank->all[i];
        if (it->rank < 0 || it->rank >= ranks)
            continue;
        sums[it->rank].time += it->time;
        sums[it->rank].bytes += (double)it->sent + (double)it->received;
        sums[it->rank].calls += it->calls;
    }
}

/* A rank has a number below this one. */
int finder_count_ranks(const struct profile_result *result)
{
    int count = result->ranks;
    for (size_t i = 0; i < result->process_count; i++)
        count = result->processes[i].rank >= count ? result->processes[i].rank + 1 : count;
    return count;
}

/* The sums of all functions that match, by rank. In a result of one rank its calls are not listed.
 * NULL: memory is exhausted. */
struct rank_sum *finder_sum_ranks(struct finder *finder, finder_matcher *matches)
{
    const struct profile_result *result = finder->result;
    const int ranks = finder_count_ranks(result);
    struct rank_sum *sums = calloc((size_t)ranks, sizeof *sums);
    finder->good = finder->good && sums;
    for (size_t i = 0; sums && i < result->function_count; i++) {
        const struct profile_function *function = &result->functions[i];
        if (!matches(finder, function->name))
            continue;
        if (function->by_rank.count) {
            add_ranks(sums, ranks, &function->by_rank);
        } else if (result->ranks == 1 && result->process_count) {
            struct rank_sum *sum = &sums[result->processes->rank];
            sum->time += function->calls.time.sum;
            sum->bytes += (double)function->calls.sent + (double)function->calls.received;
            sum->calls += function->calls.calls;
        }
    }
    return sums;
}

/* The call site where functions that match take most of a rank's time. */
const struct profile_callsite *finder_find_site(const struct finder *finder,
                                                finder_matcher *matches)
{
    const struct profile_callsite *longest = NULL;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (matches(finder, site->name) &&
            (!longest || site->calls.time.max > longest->calls.time.max))
            longest = site;
    }
    return longest;
}

bool finder_contains(const char *name, const char *const *words)
{
    for (; *words; words++) {
        if (strstr(name, *words))
            return true;
    }
    return false;
}
