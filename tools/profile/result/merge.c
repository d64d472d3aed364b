/* SPDX-License-Identifier: MIT */
/* See merge.h: figures, arrays in order, the kinds of elements in them, and the whole result. */
#define _GNU_SOURCE
#include "tools/profile/result/merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Figures --------------------------------------------------------------------------------- */

/* Sums of squared deviations are added by the formula of Chan, Golub and LeVeque, to avoid
 * cancellation. */
static void merge_spread(struct profile_spread *mine, const struct profile_spread *its,
                         const struct merge_sides *sides)
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

static double combine_figures(enum profile_figure_combine how, double mine, double its)
{
    if (how == PROFILE_TOTAL)
        return mine + its;
    return how == PROFILE_LEAST ? fmin(mine, its) : fmax(mine, its);
}

void merge_calls(struct profile_calls *mine, const struct profile_calls *its,
                 const struct merge_sides *sides)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT && its->calls; i++) {
        const double value = profile_figure_get(its, i);
        profile_figure_set(mine, i,
                           mine->calls ? combine_figures(profile_figures[i].combine,
                                                         profile_figure_get(mine, i), value)
                                       : value);
    }
    mine->calls += its->calls;
    merge_spread(&mine->time, &its->time, sides);
    merge_spread(&mine->wait, &its->wait, sides);
    mine->sent += its->sent;
    mine->received += its->received;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* Elements of one kind: their order, and how an element is added to the corresponding element of
 * the other side. Adding cannot fail, because merge_prepare allocates all memory before anything is
 * changed. */
struct merge_kind {
    size_t size;
    int (*compare)(const void *mine, const void *its);
    /* Allocates the memory that `add` needs in `mine`; NULL: `add` needs none. If only one side has
     * the element, it is `mine`, and `its` is NULL. Returns false if memory is exhausted. */
    bool (*prepare)(void *mine, void *its, const struct merge_sides *sides);
    /* Takes ownership of the data of `its`, or frees it. If an element is missing on either side,
     * `its` is an element of zeros. */
    void (*add)(void *mine, const void *its, const struct merge_sides *sides);
};

static void sort_elements(const struct merge_kind *kind, void *array, size_t count)
{
    size_t sorted = 1; /* arrays that were merged before are sorted already */
    while (sorted < count && kind->compare((char *)array + (sorted - 1) * kind->size,
                                           (char *)array + sorted * kind->size) <= 0)
        sorted++;
    if (sorted < count)
        qsort(array, count, kind->size, kind->compare);
}

/* Prepares each element for the one with which it will be merged. */
static bool prepare_elements(const struct merge_kind *kind, char *mine, size_t count, char *its,
                             size_t its_count, const struct merge_sides *sides)
{
    const struct merge_sides reversed = {sides->its, sides->mine, sides->every_rank, false};
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

/* Sorts both arrays, enlarges *mine for all elements and prepares these. Returns false if memory is
 * exhausted. */
static bool merge_prepare(const struct merge_kind *kind, void **mine, size_t count, void *its,
                          size_t its_count, const struct merge_sides *sides)
{
    sort_elements(kind, *mine, count);
    sort_elements(kind, its, its_count);
    char *const room = realloc(*mine, (count + its_count + 1) * kind->size);
    if (!room)
        return false;
    *mine = room;
    return !kind->prepare || prepare_elements(kind, room, count, its, its_count, sides);
}

/* Merges `its` into `mine`, which must be prepared unless `its` is empty. Returns the new count.
 * The elements of `mine` are first moved to the end of the allocated memory, so that the merged
 * ones, which grow from its start, never overwrite one that is still needed. */
static size_t merge_arrays(const struct merge_kind *kind, void *mine, size_t count, const void *its,
                           size_t its_count, const struct merge_sides *sides)
{
    static const union {
        struct profile_function function;
        struct profile_callsite callsite;
        struct profile_outside outside;
        struct profile_matrix_entry cell;
        struct profile_communicator communicator;
        struct profile_file file;
        struct profile_region region;
        struct profile_node node;
        struct profile_process process;
        struct profile_flight flight;
        struct profile_window_rank window_rank;
    } nothing;
    const struct merge_sides both = {sides->mine, sides->its, sides->every_rank, false};
    const struct merge_sides without_its = {sides->mine, sides->its, sides->every_rank, true};
    const struct merge_sides without_mine = {sides->its, sides->mine, sides->every_rank, true};
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

/* ---- Keys ------------------------------------------------------------------------------------ */

static int compare_uint64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ints(int a, int b)
{
    return (a > b) - (a < b);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int compare_functions(const void *mine, const void *its)
{
    const struct profile_function *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static void add_region_function(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_function *a = mine;
    struct profile_function gone = *(const struct profile_function *)its;
    merge_calls(&a->calls, &gone.calls, sides);
    a->ranks += gone.ranks;
    a->no_bytes += gone.no_bytes;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        a->sizes[i] += gone.sizes[i];
    for (int i = 0; i < PROFILE_TIME_BINS; i++)
        a->times[i] += gone.times[i];
    members_free(&members_function, &gone);
}

static const struct merge_kind merge_region_functions = {
    sizeof(struct profile_function), compare_functions, NULL, add_region_function};

static struct merge_listed list_function(struct profile_function *it)
{
    return it ? (struct merge_listed){&it->by_rank, &it->callers, &it->calls}
              : (struct merge_listed){NULL, NULL, NULL};
}

static bool prepare_function(void *mine, void *its, const struct merge_sides *sides)
{
    struct profile_function *a = mine, *b = its;
    return merge_prepare_ranks(list_function(a), list_function(b), sides);
}

static void add_function(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_function *a = mine, gone = *(const struct profile_function *)its;
    merge_ranks(list_function(a), list_function(&gone), sides);
    add_region_function(mine, its, sides);
}

static const struct merge_kind merge_functions = {
    sizeof(struct profile_function), compare_functions, prepare_function, add_function};

/* ---- Call sites ------------------------------------------------------------------------------ */

static int compare_frames(const struct profile_frame *a, const struct profile_frame *b)
{
    const int order = compare_uint64(a->offset, b->offset);
    return order ? order : strcmp(a->module, b->module);
}

int merge_compare_callsites(const void *mine, const void *its)
{
    const struct profile_callsite *a = mine, *b = its;
    int order = strcmp(a->name, b->name), i = 0, k = 0;
    for (; !order; i++, k++) {
        while (i < a->frame_count && a->frames[i].inlined)
            i++;
        while (k < b->frame_count && b->frames[k].inlined)
            k++;
        if (i == a->frame_count || k == b->frame_count)
            return compare_ints(a->frame_count - i, b->frame_count - k);
        order = compare_frames(&a->frames[i], &b->frames[k]);
    }
    return order;
}

static int count_known(const struct profile_callsite *site)
{
    int count = 0;
    for (int i = 0; i < site->frame_count; i++)
        count += site->frames[i].function || site->frames[i].file;
    return count;
}

/* Takes the frames of the side that knows more places: a file that was written after a signal
 * contains only addresses. */
static void take_places(struct profile_callsite *mine, struct profile_callsite *its)
{
    if (count_known(its) <= count_known(mine))
        return;
    struct profile_frame *const frames = mine->frames;
    const int count = mine->frame_count;
    mine->frames = its->frames;
    mine->frame_count = its->frame_count;
    its->frames = frames;
    its->frame_count = count;
}

static struct merge_listed list_callsite(struct profile_callsite *it)
{
    return it ? (struct merge_listed){&it->by_rank, &it->callers, &it->calls}
              : (struct merge_listed){NULL, NULL, NULL};
}

static bool prepare_callsite(void *mine, void *its, const struct merge_sides *sides)
{
    struct profile_callsite *a = mine, *b = its;
    return merge_prepare_ranks(list_callsite(a), list_callsite(b), sides) &&
           merge_prepare_waits(&a->waits, b ? &b->waits : NULL);
}

static void add_callsite(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_callsite *a = mine;
    struct profile_callsite gone = *(const struct profile_callsite *)its;
    merge_ranks(list_callsite(a), list_callsite(&gone), sides);
    merge_waits(&a->waits, &gone.waits, sides->every_rank);
    merge_calls(&a->calls, &gone.calls, sides);
    a->ranks += gone.ranks;
    a->messages += gone.messages;
    take_places(a, &gone);
    members_free(&members_callsite, &gone);
}

static const struct merge_kind merge_callsites = {
    sizeof(struct profile_callsite), merge_compare_callsites, prepare_callsite, add_callsite};

/* ---- The time outside MPI -------------------------------------------------------------------- */

static int compare_outside(const void *mine, const void *its)
{
    const struct profile_outside *a = mine, *b = its;
    const int order = compare_uint64(a->from, b->from);
    return order ? order : compare_uint64(a->to, b->to);
}

/* `calls` receives the time of the element. */
static struct merge_listed list_outside(struct profile_outside *it, struct profile_calls *calls)
{
    *calls = (struct profile_calls){.calls = 0};
    if (it)
        calls->time = it->time;
    return (struct merge_listed){NULL, it ? &it->ranks : NULL, it ? calls : NULL};
}

static bool prepare_outside(void *mine, void *its, const struct merge_sides *sides)
{
    struct profile_calls my_calls, its_calls;
    return merge_prepare_callers(list_outside(mine, &my_calls), list_outside(its, &its_calls),
                                 sides);
}

static void add_outside(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_outside *a = mine, gone = *(const struct profile_outside *)its;
    struct profile_calls my_calls, its_calls;
    merge_callers(list_outside(a, &my_calls), list_outside(&gone, &its_calls), sides);
    merge_spread(&a->time, &gone.time, sides);
    members_free(&members_outside, &gone);
}

static const struct merge_kind merge_outside = {sizeof(struct profile_outside), compare_outside,
                                                prepare_outside, add_outside};

/* ---- The matrix ------------------------------------------------------------------------------ */

static int compare_matrix_entries(const void *mine, const void *its)
{
    const struct profile_matrix_entry *a = mine, *b = its;
    const int order = compare_ints(a->from, b->from);
    return order ? order : compare_ints(a->to, b->to);
}

/* Both sides may have an entry for the same two ranks: one counts what the rank `from` sends, and
 * the other what the rank `to` reads from a window of `from`. */
static void add_matrix_entry(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_matrix_entry *a = mine;
    const struct profile_matrix_entry *b = its;
    (void)sides;
    a->messages += b->messages;
    a->bytes += b->bytes;
}

static const struct merge_kind merge_matrix = {sizeof(struct profile_matrix_entry),
                                               compare_matrix_entries, NULL, add_matrix_entry};

/* ---- Communicators, files -------------------------------------------------------------------- */

static int compare_communicators(const void *mine, const void *its)
{
    const struct profile_communicator *a = mine, *b = its;
    int order = strcmp(a->name, b->name);
    if (!order)
        order = compare_ints(a->size, b->size);
    if (!order)
        order = compare_ints(a->first, b->first);
    return order ? order : compare_uint64(a->members, b->members);
}

static void add_communicator(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_communicator *a = mine;
    const struct profile_communicator *b = its;
    merge_calls(&a->calls, &b->calls, sides);
    if (b->instances > a->instances)
        a->instances = b->instances;
    free(b->name);
}

static const struct merge_kind merge_communicators = {
    sizeof(struct profile_communicator), compare_communicators, NULL, add_communicator};

static int compare_files(const void *mine, const void *its)
{
    const struct profile_file *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static void merge_file_entries(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_file *a = mine;
    const struct profile_file *b = its;
    merge_calls(&a->calls, &b->calls, sides);
    a->opens += b->opens;
    a->read += b->read;
    a->written += b->written;
    free(b->name);
}

static const struct merge_kind merge_files = {sizeof(struct profile_file), compare_files, NULL,
                                              merge_file_entries};

/* ---- Regions --------------------------------------------------------------------------------- */

static int compare_regions(const void *mine, const void *its)
{
    const struct profile_region *a = mine, *b = its;
    return strcmp(a->name, b->name);
}

static int compare_nodes(const void *mine, const void *its)
{
    const struct profile_node *a = mine, *b = its;
    return strcmp(a->host, b->host);
}

static void add_node(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_node *a = mine;
    const struct profile_node *b = its;
    (void)sides;
    a->useful += b->useful;
    free(b->host);
}

static const struct merge_kind merge_nodes = {sizeof(struct profile_node), compare_nodes, NULL,
                                              add_node};

static bool prepare_region(void *mine, void *its, const struct merge_sides *sides)
{
    struct profile_region *a = mine, *b = its;
    if (!b)
        return true;
    void *array = a->functions;
    bool good = merge_prepare(&merge_region_functions, &array, a->function_count, b->functions,
                              b->function_count, sides);
    a->functions = array;
    array = a->nodes;
    good =
        good && merge_prepare(&merge_nodes, &array, a->node_count, b->nodes, b->node_count, sides);
    a->nodes = array;
    return good;
}

static void add_region(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_region *a = mine;
    const struct profile_region *b = its;
    a->entries += b->entries;
    merge_spread(&a->time, &b->time, sides);
    merge_spread(&a->mpi, &b->mpi, sides);
    merge_spread(&a->useful, &b->useful, sides);
    a->path = b->path > a->path ? b->path : a->path;
    a->node_count =
        merge_arrays(&merge_nodes, a->nodes, a->node_count, b->nodes, b->node_count, sides);
    free(b->nodes);
    a->function_count = merge_arrays(&merge_region_functions, a->functions, a->function_count,
                                     b->functions, b->function_count, sides);
    free(b->functions);
    free(b->name);
}

static const struct merge_kind merge_regions = {sizeof(struct profile_region), compare_regions,
                                                prepare_region, add_region};

/* ---- Processes ------------------------------------------------------------------------------- */

static int compare_processes(const void *mine, const void *its)
{
    const struct profile_process *a = mine, *b = its;
    return compare_ints(a->rank, b->rank);
}

/* Only in files that were edited can a process be in both results. That of `mine` is then kept. */
static void add_process(void *mine, const void *its, const struct merge_sides *sides)
{
    (void)mine;
    (void)sides;
    free(((const struct profile_process *)its)->host);
    free(((const struct profile_process *)its)->program);
    free(((const struct profile_process *)its)->processors);
    free(((const struct profile_process *)its)->termination);
}

static const struct merge_kind merge_processes = {sizeof(struct profile_process), compare_processes,
                                                  NULL, add_process};

/* ---- Windows --------------------------------------------------------------------------------- */

static int compare_window_ranks(const void *mine, const void *its)
{
    const struct profile_window_rank *a = mine, *b = its;
    return compare_ints(a->rank, b->rank);
}

static void add_window_rank(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_window_rank gone = *(const struct profile_window_rank *)its;
    (void)mine;
    (void)sides;
    members_free(&members_window_rank, &gone);
}

static const struct merge_kind merge_window_ranks = {sizeof(struct profile_window_rank),
                                                     compare_window_ranks, NULL, add_window_rank};

/* ---- Calls in flight ------------------------------------------------------------------------- */

/* Outer calls, which began earlier, are first. */
static int compare_flights(const void *mine, const void *its)
{
    const struct profile_flight *a = mine, *b = its;
    const int order = compare_ints(a->rank, b->rank);
    if (!order && a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return order ? order : strcmp(a->name, b->name);
}

static void add_flight(void *mine, const void *its, const struct merge_sides *sides)
{
    struct profile_flight gone = *(const struct profile_flight *)its;
    (void)mine;
    (void)sides;
    members_free(&members_flight, &gone);
}

static const struct merge_kind merge_flights = {sizeof(struct profile_flight), compare_flights,
                                                NULL, add_flight};

/* ---- Results --------------------------------------------------------------------------------- */

#define FOR_EACH_ARRAY(X)                                                                          \
    X(functions, functions, function_count)                                                        \
    X(callsites, callsites, callsite_count)                                                        \
    X(outside, outside, outside_count)                                                             \
    X(matrix, matrix, matrix_entry_count)                                                          \
    X(communicators, communicators, communicator_count)                                            \
    X(files, files, file_count)                                                                    \
    X(regions, regions, region_count)                                                              \
    X(processes, processes, process_count)                                                         \
    X(window_ranks, windows.ranks, windows.rank_count)                                             \
    X(flights, flights, flight_count)

static bool prepare_arrays(struct profile_result *into, struct profile_result *from,
                           const struct merge_sides *sides)
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
    struct merge_sides sides = {.mine = {.ranks = into->ranks},
                                .its = {.ranks = from->ranks},
                                .every_rank =
                                    (into->every_rank || !into->ranks) && from->every_rank};
    const bool good = profile_programs_equalize(into, from) && prepare_arrays(into, from, &sides);
    if (good) {
        sides.mine = (struct merge_side){into->ranks, into->processes, into->process_count};
        sides.its = (struct merge_side){from->ranks, from->processes, from->process_count};
        profile_windows_equalize(&into->windows, &from->windows);
#define MERGE(KIND, ARRAY, COUNT)                                                                  \
    into->COUNT =                                                                                  \
        merge_arrays(&merge_##KIND, into->ARRAY, into->COUNT, from->ARRAY, from->COUNT, &sides);   \
    from->COUNT = 0; /* its elements were moved to `into` or freed */
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

/* ---- Whether files belong to one run --------------------------------------------------------- */

/* The processes of one run begin within APART seconds: they start one after the other, and
 * clocks differ. */
enum { APART = 60 };

static bool read_time(const char *text, time_t *seconds)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (end)
        *seconds = timegm(&parts);
    return end != NULL;
}

static bool began_together(const char *begin, const char *other)
{
    time_t its, mine;
    return !read_time(begin, &mine) || !read_time(other, &its) || fabs(difftime(mine, its)) < APART;
}

static bool has_rank(const struct profile_result *result, int rank)
{
    bool found = result->rank == rank;
    for (size_t i = 0; i < result->process_count && !found; i++)
        found = result->processes[i].rank == rank;
    return found;
}

/* The processes of one job may run different programs. If the launcher does not tell the job, only
 * processes of the same program are assumed to belong to one job. */
static bool is_same_job(const struct profile_result *result, const struct profile_result *other)
{
    return result->job && other->job ? !strcmp(result->job, other->job)
                                     : !strcmp(result->program, other->program);
}

/* Checks everything that profile_merge_fits requires, except the times of starting and the
 * ranks. */
static bool is_same_run(const struct profile_result *result, const struct profile_result *other)
{
    return other->rank >= 0 && (result->rank >= 0 || result->termination) &&
           result->tool_id == other->tool_id && is_same_job(result, other) &&
           !strcmp(result->mpi, other->mpi);
}

bool profile_merge_fits(const struct profile_result *result, const struct profile_result *other)
{
    return is_same_run(result, other) && began_together(result->begin, other->begin) &&
           !has_rank(result, other->rank);
}

/* ---- Two results ----------------------------------------------------------------------------- */

static bool names_termination(const char *terminations, const char *its)
{
    const size_t length = strlen(its);
    for (const char *at = terminations; (at = strstr(at, its)); at += length) {
        if ((at == terminations || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return true;
    }
    return false;
}

/* Lists each ending once, in the order of the files. Returns NULL if memory is exhausted. */
static char *combine_terminations(const char *mine, const char *its)
{
    char *both = strdup(mine ? mine : "unknown"), *rest = strdup(its ? its : "unknown");
    for (char *next = rest, *name; both && next && (name = strsep(&next, ","));) {
        char *longer;
        name += *name == ' ';
        if (names_termination(both, name))
            continue;
        if (asprintf(&longer, "%s, %s", both, name) < 0)
            longer = NULL;
        free(both);
        both = longer;
    }
    if (!rest) {
        free(both);
        both = NULL;
    }
    free(rest);
    return both;
}

static void replace_text(char **text, char *other)
{
    free(*text);
    *text = other;
}

bool profile_merge_process(struct profile_result *result, struct profile_result *other)
{
    const bool earlier = strcmp(other->begin, result->begin) < 0;
    char *termination = combine_terminations(result->termination, other->termination);
    char *begin = strdup(earlier ? other->begin : result->begin);
    if (!termination || !begin) {
        profile_result_free(other);
    } else if (profile_merge(result, other)) {
        replace_text(&result->termination, termination);
        replace_text(&result->begin, begin);
        return true;
    }
    free(termination);
    free(begin);
    return false;
}

/* ---- Several files --------------------------------------------------------------------------- */

bool profile_merge_tree_fits(const struct profile_merge_tree *combination,
                             const struct profile_result *other)
{
    const char *begin = combination->parts[0]->begin;
    for (int i = 0; i < combination->count; i++) {
        const struct profile_result *part = combination->parts[i];
        if (!is_same_run(part, other) || has_rank(part, other->rank))
            return false;
        begin = strcmp(part->begin, begin) < 0 ? part->begin : begin;
    }
    return began_together(begin, other->begin);
}

/* Merges the last two parts. */
static bool combine_last(struct profile_merge_tree *combination)
{
    const int last = --combination->count;
    combination->files[last - 1] += combination->files[last];
    return profile_merge_process(combination->parts[last - 1], combination->parts[last]);
}

bool profile_merge_tree_add(struct profile_merge_tree *combination, struct profile_result *other)
{
    bool good = true;
    combination->parts[combination->count] = other;
    combination->files[combination->count++] = 1;
    while (combination->count > 1 &&
           combination->files[combination->count - 2] <= combination->files[combination->count - 1])
        good = combine_last(combination) && good;
    return good;
}

bool profile_merge_tree_finish(struct profile_merge_tree *combination)
{
    bool good = true;
    while (combination->count > 1)
        good = combine_last(combination) && good;
    return good;
}
