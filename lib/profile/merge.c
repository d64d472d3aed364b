/* SPDX-License-Identifier: MIT */
/* See merge.h: figures, arrays in order, and the result; merge_kinds.c has what they are
 * of. */
#include "profile/merge.h"

#include "profile/merge_parts.h"
#include "profile/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* Sums of squared deviations by the formula of Chan, Golub and LeVeque: no cancellation. */
void merge_spread(struct profile_spread *mine, const struct profile_spread *its,
                  const struct sides *sides)
{
    const int first = sides->its.process_count ? sides->its.processes->rank : -1;
    const struct profile_spread none = {.min_rank = first, .max_rank = first};
    if (sides->absent)
        its = &none;
    if (!sides->its.ranks)
        return;
    if (!sides->mine.ranks) {
        *mine = *its;
        return;
    }
    const double a = sides->mine.ranks, b = sides->its.ranks, delta = its->mean - mine->mean;
    const double squares = mine->stddev * mine->stddev * a + its->stddev * its->stddev * b +
                           delta * delta * (a * b / (a + b));
    mine->sum += its->sum;
    mine->mean = mine->sum / (a + b);
    if (its->min < mine->min || (its->min == mine->min && its->min_rank < mine->min_rank)) {
        mine->min = its->min;
        mine->min_rank = its->min_rank;
    }
    if (its->max > mine->max || (its->max == mine->max && its->max_rank < mine->max_rank)) {
        mine->max = its->max;
        mine->max_rank = its->max_rank;
    }
    mine->stddev = sqrt(squares / (a + b));
}

static double combine(enum profile_combine how, double mine, double its)
{
    if (how == PROFILE_TOTAL)
        return mine + its;
    return how == PROFILE_LEAST ? fmin(mine, its) : fmax(mine, its);
}

void merge_calls(struct profile_calls *mine, const struct profile_calls *its,
                 const struct sides *sides)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT && its->calls; i++) {
        const double value = profile_figure_get(its, i);
        profile_figure_set(
            mine, i,
            mine->calls ? combine(profile_figures[i].combine, profile_figure_get(mine, i), value)
                        : value);
    }
    mine->calls += its->calls;
    merge_spread(&mine->time, &its->time, sides);
    merge_spread(&mine->wait, &its->wait, sides);
    mine->sent += its->sent;
    mine->received += its->received;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static void sort(const struct merge_kind *kind, void *array, size_t count)
{
    size_t sorted = 1; /* as what was merged before */
    while (sorted < count && kind->compare((char *)array + (sorted - 1) * kind->size,
                                           (char *)array + sorted * kind->size) <= 0)
        sorted++;
    if (sorted < count)
        qsort(array, count, kind->size, kind->compare);
}

/* Each element with the one that it will meet. */
static bool prepare_elements(const struct merge_kind *kind, char *mine, size_t count, char *its,
                             size_t its_count, const struct sides *sides)
{
    const struct sides reversed = {sides->its, sides->mine, sides->every_rank, false};
    bool good = true;
    while (good && (count || its_count)) {
        const int order = !count ? 1 : !its_count ? -1 : kind->compare(mine, its);
        good = order <= 0 ? kind->prepare(mine, order ? NULL : its, sides)
                          : kind->prepare(its, NULL, &reversed);
        mine += order <= 0 ? kind->size : 0;
        count -= order <= 0;
        its += order >= 0 ? kind->size : 0;
        its_count -= order >= 0;
    }
    return good;
}

bool merge_prepare(const struct merge_kind *kind, void **mine, size_t count, void *its,
                   size_t its_count, const struct sides *sides)
{
    sort(kind, *mine, count);
    sort(kind, its, its_count);
    char *const room = realloc(*mine, (count + its_count + 1) * kind->size);
    if (!room)
        return false;
    *mine = room;
    return !kind->prepare || prepare_elements(kind, room, count, its, its_count, sides);
}

/* Mine move to the end of the room: the sum grows from its begin and never reaches what is still to
 * be looked at. */
size_t merge_arrays(const struct merge_kind *kind, void *mine, size_t count, const void *its,
                    size_t its_count, const struct sides *sides)
{
    static const union {
        struct profile_function function;
        struct profile_callsite callsite;
        struct profile_matrix_entry cell;
        struct profile_communicator communicator;
        struct profile_file file;
        struct profile_region region;
        struct profile_node node;
        struct profile_process process;
        struct profile_flight flight;
        struct profile_window_rank window_rank;
    } nothing;
    const struct sides both = {sides->mine, sides->its, sides->every_rank, false};
    const struct sides without_its = {sides->mine, sides->its, sides->every_rank, true};
    const struct sides without_mine = {sides->its, sides->mine, sides->every_rank, true};
    const size_t size = kind->size;
    size_t merged = 0;
    char *next = mine;
    if (count && its_count)
        next = memmove((char *)mine + its_count * size, mine, count * size);
    for (const char *other = its; count || its_count; merged++) {
        char *const thing = (char *)mine + merged * size;
        const int order = !count ? 1 : !its_count ? -1 : kind->compare(next, other);
        if (order <= 0) {
            memmove(thing, next, size);
            kind->add(thing, order < 0 ? &nothing : (const void *)other,
                      order < 0 ? &without_its : &both);
            next += size;
            count--;
        } else {
            memcpy(thing, other, size);
            kind->add(thing, &nothing, &without_mine);
        }
        if (order >= 0) {
            other += size;
            its_count--;
        }
    }
    return merged;
}

/* ---- Results --------------------------------------------------------------------------------- */

#define FOR_EACH_ARRAY(X)                                                                          \
    X(functions, functions, function_count)                                                        \
    X(callsites, callsites, callsite_count)                                                        \
    X(matrix, matrix, matrix_entry_count)                                                          \
    X(communicators, communicators, communicator_count)                                            \
    X(files, files, file_count)                                                                    \
    X(regions, regions, region_count)                                                              \
    X(processes, processes, process_count)                                                         \
    X(window_ranks, windows.ranks, windows.rank_count)                                             \
    X(flights, flights, flight_count)

static bool prepare(struct profile_result *into, struct profile_result *from,
                    const struct sides *sides)
{
    bool good = true;
    void *array;
#define PREPARE(KIND, ARRAY, COUNT)                                                                \
    array = into->ARRAY;                                                                           \
    good = good &&                                                                                 \
           merge_prepare(&merge_##KIND, &array, into->COUNT, from->ARRAY, from->COUNT, sides);     \
    into->ARRAY = array;
    FOR_EACH_ARRAY(PREPARE)
#undef PREPARE
    return good;
}

bool profile_merge(struct profile_result *into, struct profile_result *from)
{
    struct sides sides = {.mine = {.ranks = into->ranks},
                          .its = {.ranks = from->ranks},
                          .every_rank = (into->every_rank || !into->ranks) && from->every_rank};
    const bool good = prepare(into, from, &sides);
    if (good) {
        sides.mine = (struct merge_side){into->ranks, into->processes, into->process_count};
        sides.its = (struct merge_side){from->ranks, from->processes, from->process_count};
        profile_windows_equalize(&into->windows, &from->windows);
#define MERGE(KIND, ARRAY, COUNT)                                                                  \
    into->COUNT =                                                                                  \
        merge_arrays(&merge_##KIND, into->ARRAY, into->COUNT, from->ARRAY, from->COUNT, &sides);   \
    from->COUNT = 0; /* what it owned is `into`'s or gone */
        FOR_EACH_ARRAY(MERGE)
#undef MERGE
        merge_spread(&into->application, &from->application, &sides);
        merge_spread(&into->time, &from->time, &sides);
        into->every_rank = sides.every_rank;
        into->ranks += from->ranks;
        if (from->schema)
            into->schema =
                into->schema && into->schema < from->schema ? into->schema : from->schema;
        into->unfinished_receives += from->unfinished_receives;
        into->rank = -1;
    }
    profile_result_free(from);
    return good;
}
