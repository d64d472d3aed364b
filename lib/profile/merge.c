/* SPDX-License-Identifier: MIT */
/* See merge.h: figures, arrays in order, and the result; merge_kinds.c has what they are
 * of. */
#include "profile/merge.h"

#include "profile/merge_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* Sums of squared deviations by the formula of Chan, Golub and LeVeque: no cancellation. */
void merge_spread(struct profile_spread *mine, const struct profile_spread *its, struct sides ranks)
{
    if (!ranks.its)
        return;
    if (!ranks.mine) {
        *mine = *its;
        return;
    }
    const double a = ranks.mine, b = ranks.its, delta = its->mean - mine->mean;
    const double squares = mine->stddev * mine->stddev * a + its->stddev * its->stddev * b +
                           delta * delta * (a * b / (a + b));
    mine->sum += its->sum;
    mine->mean = mine->sum / (a + b);
    mine->min = fmin(mine->min, its->min);
    mine->max = fmax(mine->max, its->max);
    mine->stddev = sqrt(squares / (a + b));
}

static double combine(enum profile_combine how, double mine, double its)
{
    if (how == PROFILE_TOTAL)
        return mine + its;
    return how == PROFILE_LEAST ? fmin(mine, its) : fmax(mine, its);
}

void merge_calls(struct profile_calls *mine, const struct profile_calls *its, struct sides ranks)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT && its->calls; i++) {
        const double value = profile_figure_get(its, i);
        profile_figure_set(
            mine, i,
            mine->calls ? combine(profile_figures[i].combine, profile_figure_get(mine, i), value)
                        : value);
    }
    mine->calls += its->calls;
    merge_spread(&mine->time, &its->time, ranks);
    merge_spread(&mine->wait, &its->wait, ranks);
    mine->sent += its->sent;
    mine->received += its->received;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static void sort(const struct merge_kind *kind, void *array, size_t count)
{
    if (count > 1) /* qsort wants an array even where there is nothing to sort */
        qsort(array, count, kind->size, kind->compare);
}

bool merge_prepare(const struct merge_kind *kind, void **mine, size_t count, void *its,
                   size_t its_count)
{
    sort(kind, *mine, count);
    sort(kind, its, its_count);
    char *const room = realloc(*mine, (count + its_count + 1) * kind->size);
    bool good = room != NULL;
    if (good)
        *mine = room;
    /* Step by step as merge_arrays does: what meets here meets there. */
    for (size_t i = 0, j = 0; good && kind->prepare && i < count && j < its_count;) {
        char *const its_thing = (char *)its + j * kind->size;
        const int order = kind->compare(room + i * kind->size, its_thing);
        if (order == 0)
            good = kind->prepare(room + i * kind->size, its_thing);
        i += order <= 0;
        j += order >= 0;
    }
    return good;
}

/* Mine move to the end of the room: the sum grows from its begin and never reaches what is still to
 * be looked at. */
size_t merge_arrays(const struct merge_kind *kind, void *mine, size_t count, const void *its,
                    size_t its_count, struct sides ranks)
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
    } nothing;
    const struct sides reversed = {ranks.its, ranks.mine};
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
            kind->add(thing, order < 0 ? &nothing : (const void *)other, ranks);
            next += size;
            count--;
        } else {
            memcpy(thing, other, size);
            kind->add(thing, &nothing, reversed);
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
    X(functions, function_count)                                                                   \
    X(callsites, callsite_count)                                                                   \
    X(matrix, matrix_entry_count)                                                                  \
    X(communicators, communicator_count)                                                           \
    X(files, file_count)                                                                           \
    X(regions, region_count)                                                                       \
    X(processes, process_count)                                                                    \
    X(flights, flight_count)

static bool prepare(struct profile_result *into, struct profile_result *from)
{
    bool good = true;
    void *array;
#define PREPARE(ARRAY, COUNT)                                                                      \
    array = into->ARRAY;                                                                           \
    good = good && merge_prepare(&merge_##ARRAY, &array, into->COUNT, from->ARRAY, from->COUNT);   \
    into->ARRAY = array;
    FOR_EACH_ARRAY(PREPARE)
#undef PREPARE
    return good;
}

bool profile_merge(struct profile_result *into, struct profile_result *from)
{
    const struct sides ranks = {into->ranks, from->ranks};
    const bool good = prepare(into, from);
    if (good) {
#define MERGE(ARRAY, COUNT)                                                                        \
    into->COUNT =                                                                                  \
        merge_arrays(&merge_##ARRAY, into->ARRAY, into->COUNT, from->ARRAY, from->COUNT, ranks);   \
    from->COUNT = 0; /* what it owned is `into`'s or gone */
        FOR_EACH_ARRAY(MERGE)
#undef MERGE
        merge_spread(&into->application, &from->application, ranks);
        merge_spread(&into->time, &from->time, ranks);
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
