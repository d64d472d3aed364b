/* SPDX-License-Identifier: MIT */
/* See merge_parts.h. */
#include "profile/merge_parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_ranks(const void *a, const void *b)
{
    const struct profile_wait *mine = a, *its = b;
    const int order = (mine->rank > its->rank) - (mine->rank < its->rank);
    return order ? order : (mine->peer > its->peer) - (mine->peer < its->peer);
}

/* The longest first. */
static int compare_times(const void *a, const void *b)
{
    const struct profile_wait *mine = a, *its = b;
    return mine->time != its->time ? (mine->time < its->time) - (mine->time > its->time)
                                   : compare_ranks(a, b);
}

bool merge_prepare_waits(struct profile_waits *mine, const struct profile_waits *its)
{
    if (!its || !its->count)
        return true;
    struct profile_wait *all = realloc(mine->all, (mine->count + its->count) * sizeof *all);
    if (all)
        mine->all = all;
    return all != NULL;
}

/* Waits of one rank for the same peer become one. Returns how many remain. */
static size_t combine(struct profile_wait *all, size_t count)
{
    size_t combined = 0;
    qsort(all, count, sizeof *all, compare_ranks);
    for (size_t i = 0; i < count; i++) {
        if (combined && !compare_ranks(&all[combined - 1], &all[i])) {
            all[combined - 1].calls += all[i].calls;
            all[combined - 1].time += all[i].time;
        } else {
            all[combined++] = all[i];
        }
    }
    return combined;
}

void merge_waits(struct profile_waits *mine, const struct profile_waits *its, bool every_rank)
{
    if (!its->count)
        return;
    memcpy(mine->all + mine->count, its->all, its->count * sizeof *its->all);
    mine->count = combine(mine->all, mine->count + its->count);
    if (every_rank || mine->count <= PROFILE_WAITS_MOST)
        return;
    qsort(mine->all, mine->count, sizeof *mine->all, compare_times);
    mine->count = PROFILE_WAITS_MOST;
    qsort(mine->all, mine->count, sizeof *mine->all, compare_ranks);
}
