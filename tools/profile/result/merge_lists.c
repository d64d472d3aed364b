/* SPDX-License-Identifier: MIT */
/*
 * See merge.h: the lists of an element by rank, and the waits of a call site. A merged list
 * contains the ranks with the least and the most time of both lists, except that `by_rank` contains
 * all ranks if every_rank is set. Therefore, the result does not depend on the order of merging,
 * and without every_rank, a list needs no more memory in a large job.
 */
#include "tools/profile/result/merge.h"

#include <stdlib.h>
#include <string.h>

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_rank_calls(const void *a, const void *b)
{
    const struct profile_rank_calls *mine = a, *its = b;
    return (mine->rank > its->rank) - (mine->rank < its->rank);
}

/* Orders by time, shortest first. */
static int compare_rank_times(const void *a, const void *b)
{
    const struct profile_rank_calls *mine = a, *its = b;
    const double my_time = mine->time + mine->wait, its_time = its->time + its->wait;
    return my_time != its_time ? (my_time > its_time) - (my_time < its_time)
                               : compare_rank_calls(a, b);
}

/* Removes the ranks in the middle. Returns the number of those that remain. */
static size_t filter_outliers(struct profile_rank_calls *all, size_t count)
{
    enum { HALF = PROFILE_OUTLIERS / 2 };
    if (count <= PROFILE_OUTLIERS)
        return count;
    qsort(all, count, sizeof *all, compare_rank_times);
    memmove(all + HALF, all + count - HALF, HALF * sizeof *all);
    return PROFILE_OUTLIERS;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static size_t count_listed(const struct profile_by_rank *by_rank, const struct merge_side *side)
{
    return side->ranks == 1 ? 1 : by_rank->count;
}

static bool make_rank_room(struct profile_by_rank *by_rank, size_t room)
{
    struct profile_rank_calls *all = realloc(by_rank->all, room * sizeof *all);
    if (all)
        by_rank->all = all;
    return all != NULL;
}

/* Shortens a list that is too long because its result lists every rank, before this result is
 * merged with one that does not. */
static void trim_ranks(struct profile_by_rank *list)
{
    if (list && list->count > PROFILE_OUTLIERS)
        list->count = filter_outliers(list->all, list->count);
}

bool merge_prepare_callers(struct merge_listed mine, struct merge_listed its,
                           const struct merge_sides *sides)
{
    size_t callers = count_listed(mine.callers, &sides->mine) + 1;
    callers += its.callers ? count_listed(its.callers, &sides->its) : 0;
    return make_rank_room(mine.callers, callers < PROFILE_OUTLIERS ? callers : PROFILE_OUTLIERS);
}

bool merge_prepare_ranks(struct merge_listed mine, struct merge_listed its,
                         const struct merge_sides *sides)
{
    size_t room = PROFILE_OUTLIERS;
    if (!sides->every_rank) {
        trim_ranks(mine.by_rank);
        trim_ranks(its.by_rank);
    } else {
        room = count_listed(mine.by_rank, &sides->mine) +
               (its.by_rank ? count_listed(its.by_rank, &sides->its) : 0) + 1;
    }
    return make_rank_room(mine.by_rank, room) && merge_prepare_callers(mine, its, sides);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Copies the list of a side; if the side is a single rank, makes its only element from `calls`.
 * Returns the number of elements, or 0 if the ranks are not known. */
static size_t copy_ranks(struct profile_rank_calls *to, const struct profile_by_rank *by_rank,
                         const struct profile_calls *calls, const struct merge_side *side)
{
    if (side->ranks == 1) {
        *to = (struct profile_rank_calls){.rank = side->process_count ? side->processes->rank : -1,
                                          .calls = calls->calls,
                                          .time = calls->time.sum,
                                          .wait = calls->wait.sum,
                                          .sent = calls->sent,
                                          .received = calls->received};
        return 1;
    }
    if (by_rank->count)
        memmove(to, by_rank->all, by_rank->count * sizeof *to);
    return by_rank->count;
}

static size_t add_absent_ranks(struct profile_rank_calls *to, const struct merge_side *side)
{
    size_t count = 0;
    for (; count < side->process_count && count < PROFILE_OUTLIERS; count++)
        to[count] = (struct profile_rank_calls){.rank = side->processes[count].rank};
    return count;
}

static void merge_every_rank(struct merge_listed mine, struct merge_listed its,
                             const struct merge_sides *sides)
{
    struct profile_rank_calls *all = mine.by_rank->all;
    size_t count = copy_ranks(all, mine.by_rank, mine.calls, &sides->mine);
    if (!sides->absent)
        count += copy_ranks(all + count, its.by_rank, its.calls, &sides->its);
    mine.by_rank->count = count;
    qsort(all, count, sizeof *all, compare_rank_calls);
}

static void store_outliers(struct profile_by_rank *to, struct profile_rank_calls *all, size_t count)
{
    to->count = filter_outliers(all, count);
    qsort(all, to->count, sizeof *all, compare_rank_calls);
    memcpy(to->all, all, to->count * sizeof *all);
}

static void merge_outliers(struct merge_listed mine, struct merge_listed its,
                           const struct merge_sides *sides)
{
    struct profile_rank_calls all[2 * PROFILE_OUTLIERS];
    const size_t count = copy_ranks(all, mine.by_rank, mine.calls, &sides->mine);
    const size_t more = sides->absent
                            ? add_absent_ranks(all + count, &sides->its)
                            : copy_ranks(all + count, its.by_rank, its.calls, &sides->its);
    mine.by_rank->count = 0;
    if (count && (more || sides->absent))
        store_outliers(mine.by_rank, all, count + more);
}

void merge_callers(struct merge_listed mine, struct merge_listed its,
                   const struct merge_sides *sides)
{
    struct profile_rank_calls all[2 * PROFILE_OUTLIERS];
    const size_t count = copy_ranks(all, mine.callers, mine.calls, &sides->mine);
    const size_t more =
        sides->absent ? 0 : copy_ranks(all + count, its.callers, its.calls, &sides->its);
    mine.callers->count = 0;
    if (count && (more || sides->absent))
        store_outliers(mine.callers, all, count + more);
}

void merge_ranks(struct merge_listed mine, struct merge_listed its, const struct merge_sides *sides)
{
    merge_callers(mine, its, sides);
    if (sides->every_rank)
        merge_every_rank(mine, its, sides);
    else
        merge_outliers(mine, its, sides);
}

/* ---- Callers --------------------------------------------------------------------------------- */

void profile_merge_choose_callers(struct profile_by_rank *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->all[i].calls)
            list->all[count++] = list->all[i];
    }
    list->count = filter_outliers(list->all, count);
    if (list->count < count)
        qsort(list->all, list->count, sizeof *list->all, compare_rank_calls);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static int compare_waits(const void *a, const void *b)
{
    const struct profile_wait *mine = a, *its = b;
    const int order = (mine->rank > its->rank) - (mine->rank < its->rank);
    return order ? order : (mine->peer > its->peer) - (mine->peer < its->peer);
}

/* Orders by time, longest first. */
static int compare_wait_times(const void *a, const void *b)
{
    const struct profile_wait *mine = a, *its = b;
    return mine->time != its->time ? (mine->time < its->time) - (mine->time > its->time)
                                   : compare_waits(a, b);
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

/* Combines the waits of one rank for the same peer. Returns the number of those that remain. */
static size_t combine_waits(struct profile_wait *all, size_t count)
{
    size_t combined = 0;
    qsort(all, count, sizeof *all, compare_waits);
    for (size_t i = 0; i < count; i++) {
        if (combined && !compare_waits(&all[combined - 1], &all[i])) {
            all[combined - 1].calls += all[i].calls;
            all[combined - 1].time += all[i].time;
        } else {
            all[combined++] = all[i];
        }
    }
    return combined;
}

/* Returns the rank that waits longest in total. `all` is in the order of the ranks. Usually, this
 * function has also returned this rank for each earlier result that contained it, so that
 * choose_waits has kept the longest waits of this rank. */
static int find_longest_waiter(const struct profile_wait *all, size_t count)
{
    double most = -1, time = 0;
    int rank = -1;
    for (size_t i = 0; i < count; i++) {
        time = i && all[i].rank == all[i - 1].rank ? time + all[i].time : all[i].time;
        if (time > most) {
            most = time;
            rank = all[i].rank;
        }
    }
    return rank;
}

/* Keeps PROFILE_WAITS_MOST waits: at most half of these are the longest waits of the rank that
 * waits longest, and the rest are the longest of all others. Returns their number. */
static size_t choose_waits(struct profile_wait *all, size_t count)
{
    enum { HALF = PROFILE_WAITS_MOST / 2 };
    const int longest = find_longest_waiter(all, count);
    struct profile_wait its[HALF];
    size_t its_count = 0, others = 0;
    qsort(all, count, sizeof *all, compare_wait_times);
    for (size_t i = 0; i < count; i++) {
        if (all[i].rank == longest && its_count < HALF)
            its[its_count++] = all[i];
        else
            all[others++] = all[i];
    }
    size_t kept = others < PROFILE_WAITS_MOST - its_count ? others : PROFILE_WAITS_MOST - its_count;
    memcpy(all + kept, its, its_count * sizeof *its);
    kept += its_count;
    qsort(all, kept, sizeof *all, compare_waits);
    return kept;
}

void merge_waits(struct profile_waits *mine, const struct profile_waits *its, bool every_rank)
{
    if (its->count) {
        memcpy(mine->all + mine->count, its->all, its->count * sizeof *its->all);
        mine->count = combine_waits(mine->all, mine->count + its->count);
    }
    if (!every_rank && mine->count > PROFILE_WAITS_MOST)
        mine->count = choose_waits(mine->all, mine->count);
}
