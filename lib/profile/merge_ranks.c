/* SPDX-License-Identifier: MIT */
/*
 * See merge_parts.h: the calls by rank. Those with the least and the most time of two lists are
 * those of their union, in whatever order lists are merged, so that a list needs no more room in a
 * large job.
 */
#include "profile/merge_parts.h"

#include <stdlib.h>
#include <string.h>

static size_t count_listed(const struct profile_by_rank *by_rank, const struct merge_side *side)
{
    return side->ranks == 1 ? 1 : by_rank->count;
}

bool merge_prepare_ranks(struct profile_by_rank *mine, const struct profile_by_rank *its,
                         const struct sides *sides)
{
    size_t room = PROFILE_OUTLIERS;
    if (sides->every_rank)
        room = count_listed(mine, &sides->mine) + (its ? count_listed(its, &sides->its) : 0) + 1;
    struct profile_rank_calls *all = realloc(mine->all, room * sizeof *all);
    if (all)
        mine->all = all;
    return all != NULL;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    const struct profile_rank_calls *mine = a, *its = b;
    return (mine->rank > its->rank) - (mine->rank < its->rank);
}

/* The least time first. */
static int compare_times(const void *a, const void *b)
{
    const struct profile_rank_calls *mine = a, *its = b;
    const double my_time = mine->time + mine->wait, its_time = its->time + its->wait;
    return my_time != its_time ? (my_time > its_time) - (my_time < its_time) : compare_ranks(a, b);
}

/* Removes those in the middle. Returns how many remain. */
static size_t filter_outliers(struct profile_rank_calls *all, size_t count)
{
    enum { HALF = PROFILE_OUTLIERS / 2 };
    if (count <= PROFILE_OUTLIERS)
        return count;
    qsort(all, count, sizeof *all, compare_times);
    memmove(all + HALF, all + count - HALF, HALF * sizeof *all);
    return PROFILE_OUTLIERS;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Copies the list of a side. Returns the number of elements; 0: not known. */
static size_t copy(struct profile_rank_calls *to, struct merge_listed listed,
                   const struct merge_side *side)
{
    const struct profile_calls *calls = listed.calls;
    if (side->ranks == 1) {
        *to = (struct profile_rank_calls){.rank = side->process_count ? side->processes->rank : -1,
                                          .calls = calls->calls,
                                          .time = calls->time.sum,
                                          .wait = calls->wait.sum,
                                          .sent = calls->sent,
                                          .received = calls->received};
        return 1;
    }
    if (listed.by_rank->count)
        memmove(to, listed.by_rank->all, listed.by_rank->count * sizeof *to);
    return listed.by_rank->count;
}

static size_t list_absent(struct profile_rank_calls *to, const struct merge_side *side)
{
    size_t count = 0;
    for (; count < side->process_count && count < PROFILE_OUTLIERS; count++)
        to[count] = (struct profile_rank_calls){.rank = side->processes[count].rank};
    return count;
}

static void merge_every_rank(struct merge_listed mine, struct merge_listed its,
                             const struct sides *sides)
{
    struct profile_rank_calls *all = mine.by_rank->all;
    size_t count = copy(all, mine, &sides->mine);
    if (!sides->absent)
        count += copy(all + count, its, &sides->its);
    mine.by_rank->count = count;
    qsort(all, count, sizeof *all, compare_ranks);
}

void merge_ranks(struct merge_listed mine, struct merge_listed its, const struct sides *sides)
{
    struct profile_rank_calls all[2 * PROFILE_OUTLIERS];
    if (sides->every_rank) {
        merge_every_rank(mine, its, sides);
        return;
    }
    const size_t count = copy(all, mine, &sides->mine);
    const size_t more =
        sides->absent ? list_absent(all + count, &sides->its) : copy(all + count, its, &sides->its);
    mine.by_rank->count = 0;
    if (!count || (!more && !sides->absent))
        return;
    mine.by_rank->count = filter_outliers(all, count + more);
    qsort(all, mine.by_rank->count, sizeof *all, compare_ranks);
    memcpy(mine.by_rank->all, all, mine.by_rank->count * sizeof *all);
}
