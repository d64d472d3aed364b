/* SPDX-License-Identifier: MIT */
/* See merge.h. */
#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures ------------------------------------------------------------------------------------
 */

/* Sums of squared deviations by the formula of Chan, Golub and LeVeque: no cancellation. */
struct profile_spread profile_spread_merge(struct profile_spread x, int nx, struct profile_spread y,
                                           int ny)
{
    if (!nx || !ny)
        return nx ? x : y;
    const double n = (double)nx + ny, delta = y.mean - x.mean;
    const double squares =
        x.stddev * x.stddev * nx + y.stddev * y.stddev * ny + delta * delta * ((double)nx * ny / n);
    return (struct profile_spread){
        .sum = x.sum + y.sum,
        .mean = (x.sum + y.sum) / n,
        .min = x.min < y.min ? x.min : y.min,
        .max = x.max > y.max ? x.max : y.max,
        .stddev = sqrt(squares / n),
    };
}

/* How many ranks are in each of the two. */
struct sides {
    int into, from;
};

static void merge_calls(struct profile_calls *into, const struct profile_calls *from,
                        struct sides ranks)
{
    if (from->calls && (!into->calls || from->shortest < into->shortest))
        into->shortest = from->shortest;
    if (from->longest > into->longest)
        into->longest = from->longest;
    into->calls += from->calls;
    into->time = profile_spread_merge(into->time, ranks.into, from->time, ranks.from);
    into->wait = profile_spread_merge(into->wait, ranks.into, from->wait, ranks.from);
    into->sent += from->sent;
    into->received += from->received;
}

/* The other ranks have none of these calls. */
static void widen_calls(struct profile_calls *calls, int own, int others)
{
    const struct profile_spread nothing = {0};
    calls->time = profile_spread_merge(calls->time, own, nothing, others);
    calls->wait = profile_spread_merge(calls->wait, own, nothing, others);
}

/* ---- Arrays -------------------------------------------------------------------------------------
 */

/* What arrays of one type need: their order, one entry that is in both, one that is in one. */
struct type {
    size_t size;
    int (*compare)(const void *a, const void *b);
    void (*combine)(void *into, void *from, struct sides ranks); /* takes what `from` owns */
    void (*widen)(void *entry, int own, int others);             /* NULL: it has no spreads */
};

static void sort(const struct type *type, void *array, size_t count)
{
    if (count > 1)
        qsort(array, count, type->size, type->compare);
}

/* Both are in order; `out` has room for all. Its count. */
static size_t merge_arrays(const struct type *type, char *into, size_t into_count, char *from,
                           size_t from_count, char *out, struct sides ranks)
{
    char *const begin = out;
    size_t i = 0, j = 0;
    for (; i < into_count || j < from_count; out += type->size) {
        char *mine = into + i * type->size, *its = from + j * type->size;
        const int order = i == into_count ? 1 : j == from_count ? -1 : type->compare(mine, its);
        memcpy(out, order <= 0 ? mine : its, type->size);
        if (order == 0)
            type->combine(out, its, ranks);
        else if (type->widen)
            type->widen(out, order < 0 ? ranks.into : ranks.from,
                        order < 0 ? ranks.from : ranks.into);
        i += order <= 0;
        j += order >= 0;
    }
    return (size_t)(out - begin) / type->size;
}

/* Room for two arrays together; not NULL for two empty ones. */
static void *room(const struct type *type, size_t a, size_t b)
{
    return calloc(a + b + 1, type->size);
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* ---- Functions, call sites ----------------------------------------------------------------------
 */

static int compare_functions(const void *a, const void *b)
{
    const struct profile_function *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void combine_functions(void *a, void *b, struct sides ranks)
{
    struct profile_function *into = a, *from = b;
    merge_calls(&into->calls, &from->calls, ranks);
    into->no_bytes += from->no_bytes;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        into->sizes[i] += from->sizes[i];
    for (int i = 0; i < PROFILE_TIME_BINS; i++)
        into->times[i] += from->times[i];
    free(from->name);
    free(from->group);
}

static void widen_function(void *entry, int own, int others)
{
    widen_calls(&((struct profile_function *)entry)->calls, own, others);
}

int profile_callsite_compare(const void *a, const void *b)
{
    const struct profile_callsite *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    for (int i = 0; !order && (i < x->frame_count || i < y->frame_count); i++) {
        if (i >= x->frame_count || i >= y->frame_count)
            return i < y->frame_count ? -1 : 1;
        order = by_number(x->frames[i].offset, y->frames[i].offset);
        if (!order)
            order = strcmp(x->frames[i].module, y->frames[i].module);
    }
    return order;
}

static void combine_callsites(void *a, void *b, struct sides ranks)
{
    struct profile_callsite *into = a, *from = b;
    merge_calls(&into->calls, &from->calls, ranks);
    into->ranks += from->ranks;
    for (int i = 0; i < from->frame_count; i++) {
        free(from->frames[i].module);
        free(from->frames[i].function);
        free(from->frames[i].file);
    }
    free(from->frames);
    free(from->name);
}

static void widen_callsite(void *entry, int own, int others)
{
    widen_calls(&((struct profile_callsite *)entry)->calls, own, others);
}

/* ---- Matrix, communicators, files, processes ----------------------------------------------------
 */

static int compare_cells(const void *a, const void *b)
{
    const struct profile_cell *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* A rank's own sends and another one's reads from its window meet in one cell. */
static void combine_cells(void *a, void *b, struct sides ranks)
{
    struct profile_cell *into = a;
    const struct profile_cell *from = b;
    (void)ranks;
    into->messages += from->messages;
    into->bytes += from->bytes;
}

static int compare_communicators(const void *a, const void *b)
{
    const struct profile_communicator *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (!order)
        order = (x->size > y->size) - (x->size < y->size);
    if (!order)
        order = (x->first > y->first) - (x->first < y->first);
    return order ? order : by_number(x->members, y->members);
}

static void combine_communicators(void *a, void *b, struct sides ranks)
{
    struct profile_communicator *into = a, *from = b;
    merge_calls(&into->calls, &from->calls, ranks);
    if (from->instances > into->instances)
        into->instances = from->instances;
    free(from->name);
}

static void widen_communicator(void *entry, int own, int others)
{
    widen_calls(&((struct profile_communicator *)entry)->calls, own, others);
}

static int compare_files(const void *a, const void *b)
{
    const struct profile_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void combine_files(void *a, void *b, struct sides ranks)
{
    struct profile_file *into = a, *from = b;
    merge_calls(&into->calls, &from->calls, ranks);
    into->opens += from->opens;
    into->read += from->read;
    into->written += from->written;
    free(from->name);
}

static void widen_file(void *entry, int own, int others)
{
    widen_calls(&((struct profile_file *)entry)->calls, own, others);
}

static int compare_processes(const void *a, const void *b)
{
    const struct profile_process *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Two reports of one process: the later one. */
static void combine_processes(void *a, void *b, struct sides ranks)
{
    struct profile_process *into = a;
    (void)ranks;
    free(into->host);
    memcpy(into, b, sizeof *into);
}

static const struct type functions = {sizeof(struct profile_function), compare_functions,
                                      combine_functions, widen_function};
static const struct type callsites = {sizeof(struct profile_callsite), profile_callsite_compare,
                                      combine_callsites, widen_callsite};
static const struct type cells = {sizeof(struct profile_cell), compare_cells, combine_cells, NULL};
static const struct type communicators = {sizeof(struct profile_communicator),
                                          compare_communicators, combine_communicators,
                                          widen_communicator};
static const struct type files = {sizeof(struct profile_file), compare_files, combine_files,
                                  widen_file};
static const struct type processes = {sizeof(struct profile_process), compare_processes,
                                      combine_processes, NULL};

/* ---- Regions ------------------------------------------------------------------------------------
 */

static int compare_regions(const void *a, const void *b)
{
    const struct profile_region *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* So that combining cannot fail: room for the functions of both waits behind each region's own. */
static bool prepare_regions(struct profile_region *into, size_t into_count,
                            const struct profile_region *from, size_t from_count)
{
    size_t j = 0;
    for (size_t i = 0; i < into_count; i++) {
        while (j < from_count && compare_regions(&from[j], &into[i]) < 0)
            j++;
        sort(&functions, into[i].functions, into[i].function_count);
        if (j == from_count || compare_regions(&from[j], &into[i]))
            continue;
        const size_t count = 2 * into[i].function_count + from[j].function_count;
        void *larger = realloc(into[i].functions, (count + 1) * functions.size);
        if (!larger)
            return false;
        into[i].functions = larger;
    }
    return true;
}

static void combine_regions(void *a, void *b, struct sides ranks)
{
    struct profile_region *into = a, *from = b;
    into->entries += from->entries;
    into->time = profile_spread_merge(into->time, ranks.into, from->time, ranks.from);
    into->mpi = profile_spread_merge(into->mpi, ranks.into, from->mpi, ranks.from);
    sort(&functions, from->functions, from->function_count);
    char *out = (char *)(into->functions + into->function_count);
    const size_t count = merge_arrays(&functions, (char *)into->functions, into->function_count,
                                      (char *)from->functions, from->function_count, out, ranks);
    memmove(into->functions, out, count * functions.size);
    into->function_count = count;
    free(from->functions);
    free(from->name);
}

static void widen_region(void *entry, int own, int others)
{
    struct profile_region *region = entry;
    const struct profile_spread nothing = {0};
    region->time = profile_spread_merge(region->time, own, nothing, others);
    region->mpi = profile_spread_merge(region->mpi, own, nothing, others);
    for (size_t i = 0; i < region->function_count; i++)
        widen_function(&region->functions[i], own, others);
}

static const struct type regions = {sizeof(struct profile_region), compare_regions, combine_regions,
                                    widen_region};

/* ---- Results ------------------------------------------------------------------------------------
 */

/* X(type, array, count) for each of a result's arrays. */
#define FOR_EACH_ARRAY(X)                                                                          \
    X(functions, functions, function_count)                                                        \
    X(callsites, callsites, callsite_count)                                                        \
    X(cells, matrix, cell_count)                                                                   \
    X(communicators, communicators, communicator_count)                                            \
    X(files, files, file_count)                                                                    \
    X(regions, regions, region_count)                                                              \
    X(processes, processes, process_count)

bool profile_merge(struct profile_result *into, struct profile_result *from)
{
    const struct sides ranks = {into->ranks, from->ranks};
    bool good = true;
#define MAKE_ROOM(TYPE, ARRAY, COUNT)                                                              \
    sort(&TYPE, into->ARRAY, into->COUNT);                                                         \
    sort(&TYPE, from->ARRAY, from->COUNT);                                                         \
    void *new_##TYPE = room(&TYPE, into->COUNT, from->COUNT);                                      \
    good = good && new_##TYPE;
    FOR_EACH_ARRAY(MAKE_ROOM)
    good = good &&
           prepare_regions(into->regions, into->region_count, from->regions, from->region_count);
    if (good) {
#define MERGE(TYPE, ARRAY, COUNT)                                                                  \
    const size_t n_##TYPE = merge_arrays(&TYPE, (char *)into->ARRAY, into->COUNT,                  \
                                         (char *)from->ARRAY, from->COUNT, new_##TYPE, ranks);     \
    free(into->ARRAY);                                                                             \
    into->ARRAY = new_##TYPE;                                                                      \
    into->COUNT = n_##TYPE;                                                                        \
    new_##TYPE = NULL;                                                                             \
    from->COUNT = 0; /* what it owned is `into`'s or gone */
        FOR_EACH_ARRAY(MERGE)
        into->application =
            profile_spread_merge(into->application, ranks.into, from->application, ranks.from);
        into->time = profile_spread_merge(into->time, ranks.into, from->time, ranks.from);
        into->ranks += from->ranks;
        into->rank = -1;
    }
#define FREE_ROOM(TYPE, ARRAY, COUNT) free(new_##TYPE);
    FOR_EACH_ARRAY(FREE_ROOM)
    profile_result_free(from);
    return good;
}
