/* SPDX-License-Identifier: MIT */
/* See join.h. */
#define _GNU_SOURCE
#include "join.h"

#include "message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { APART = 60 }; /* seconds: processes start one after the other, and clocks differ */

/* ---- Whether ------------------------------------------------------------------------------------
 */

static bool read_time(const char *text, time_t *seconds)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (end)
        *seconds = timegm(&parts);
    return end != NULL;
}

bool profile_join_fits(const struct profile_result *result, const struct profile_result *other)
{
    time_t its, mine;
    if (other->rank < 0 || (result->rank < 0 && !result->ending) ||
        result->tool_id != other->tool_id || strcmp(result->program, other->program) != 0 ||
        strcmp(result->mpi, other->mpi) != 0)
        return false;
    if (read_time(result->begin, &mine) && read_time(other->begin, &its) &&
        fabs(difftime(mine, its)) >= APART)
        return false;
    if (result->rank == other->rank)
        return false;
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].rank == other->rank)
            return false;
    }
    return true;
}

/* ---- Figures ------------------------------------------------------------------------------------
 */

/* How many ranks each of the two sides is of. */
struct sides {
    int mine, its;
};

/* Chan, Golub and LeVeque's formula: no difference of large sums. */
static void join_spread(struct profile_spread *mine, const struct profile_spread *its,
                        struct sides ranks)
{
    const double a = ranks.mine, b = ranks.its, delta = its->mean - mine->mean;
    const double squares = a * mine->stddev * mine->stddev + b * its->stddev * its->stddev +
                           delta * delta * a * b / (a + b);
    mine->sum += its->sum;
    mine->mean = mine->sum / (a + b);
    mine->min = fmin(mine->min, its->min);
    mine->max = fmax(mine->max, its->max);
    mine->stddev = sqrt(squares / (a + b));
}

static void join_calls(struct profile_calls *mine, const struct profile_calls *its,
                       struct sides ranks)
{
    if (!mine->calls || (its->calls && its->shortest < mine->shortest))
        mine->shortest = its->shortest;
    mine->longest = fmax(mine->longest, its->longest);
    mine->calls += its->calls;
    mine->sent += its->sent;
    mine->received += its->received;
    join_spread(&mine->time, &its->time, ranks);
    join_spread(&mine->wait, &its->wait, ranks);
}

/* ---- Things of one kind -------------------------------------------------------------------------
 */

/*
 * What join_things must know of a kind. Both sides' strings and arrays belong to the joined result
 * in the end: `add` takes over what it needs and frees the rest of `its`.
 */
struct kind {
    size_t size;
    bool (*same)(const void *mine, const void *its);
    void (*add)(void *mine, void *its, struct sides ranks);
};

/*
 * Adds each of `its` to the same one of `mine`, or to an empty one at the end: so those that only
 * one side has get the other side's zeros. Those that only `mine` has meet an empty one, too.
 */
static void join_things(void **mine, size_t *count, void *its, size_t its_count,
                        const struct kind *kind, struct sides ranks)
{
    const size_t before = *count;
    char *joined = qmpi_allocate(before + its_count, kind->size);
    bool *met = qmpi_allocate(before, sizeof *met);
    void *nothing = qmpi_allocate(1, kind->size);
    if (before)
        memcpy(joined, *mine, before * kind->size);
    for (size_t i = 0; i < its_count; i++) {
        char *thing = (char *)its + i * kind->size;
        size_t at = 0;
        while (at < before && (met[at] || !kind->same(joined + at * kind->size, thing)))
            at++;
        if (at < before)
            met[at] = true;
        else
            at = (*count)++;
        kind->add(joined + at * kind->size, thing, ranks);
    }
    for (size_t at = 0; at < before; at++) {
        if (!met[at])
            kind->add(joined + at * kind->size, nothing, ranks);
    }
    free(nothing);
    free(met);
    free(*mine);
    free(its);
    *mine = joined;
}

/* The name that one of two has, or both; the second one is freed. */
static void take_name(char **mine, char *its)
{
    if (*mine)
        free(its);
    else
        *mine = its;
}

static bool same_function(const void *mine, const void *its)
{
    const struct profile_function *a = mine, *b = its;
    return !strcmp(a->name, b->name);
}

static void add_function(void *mine, void *its, struct sides ranks)
{
    struct profile_function *a = mine, *b = its;
    join_calls(&a->calls, &b->calls, ranks);
    take_name(&a->name, b->name);
    take_name(&a->group, b->group);
    a->no_bytes += b->no_bytes;
    for (int bin = 0; bin < PROFILE_SIZE_BINS; bin++)
        a->sizes[bin] += b->sizes[bin];
    for (int bin = 0; bin < PROFILE_TIME_BINS; bin++)
        a->times[bin] += b->times[bin];
}

static const struct kind functions = {sizeof(struct profile_function), same_function, add_function};

static bool same_callsite(const void *mine, const void *its)
{
    const struct profile_callsite *a = mine, *b = its;
    if (a->frame_count != b->frame_count || strcmp(a->name, b->name) != 0)
        return false;
    for (int i = 0; i < a->frame_count; i++) {
        if (a->frames[i].offset != b->frames[i].offset ||
            strcmp(a->frames[i].module, b->frames[i].module) != 0)
            return false;
    }
    return true;
}

static void add_callsite(void *mine, void *its, struct sides ranks)
{
    struct profile_callsite *a = mine, *b = its;
    join_calls(&a->calls, &b->calls, ranks);
    a->ranks += b->ranks;
    if (a->name) {
        profile_callsite_clear(b);
        return;
    }
    a->name = b->name;
    a->frames = b->frames;
    a->frame_count = b->frame_count;
}

static const struct kind callsites = {sizeof(struct profile_callsite), same_callsite, add_callsite};

static bool same_communicator(const void *mine, const void *its)
{
    const struct profile_communicator *a = mine, *b = its;
    return a->size == b->size && a->first == b->first && a->members == b->members &&
           !strcmp(a->name, b->name);
}

static void add_communicator(void *mine, void *its, struct sides ranks)
{
    struct profile_communicator *a = mine, *b = its;
    if (!a->name) {
        a->size = b->size;
        a->first = b->first;
        a->members = b->members;
    }
    take_name(&a->name, b->name);
    a->instances = a->instances > b->instances ? a->instances : b->instances;
    join_calls(&a->calls, &b->calls, ranks);
}

static const struct kind communicators = {sizeof(struct profile_communicator), same_communicator,
                                          add_communicator};

static bool same_file(const void *mine, const void *its)
{
    const struct profile_file *a = mine, *b = its;
    return !strcmp(a->name, b->name);
}

static void add_file(void *mine, void *its, struct sides ranks)
{
    struct profile_file *a = mine, *b = its;
    take_name(&a->name, b->name);
    a->opens += b->opens;
    a->read += b->read;
    a->written += b->written;
    join_calls(&a->calls, &b->calls, ranks);
}

static const struct kind files = {sizeof(struct profile_file), same_file, add_file};

static bool same_region(const void *mine, const void *its)
{
    const struct profile_region *a = mine, *b = its;
    return !strcmp(a->name, b->name);
}

static void add_region(void *mine, void *its, struct sides ranks)
{
    struct profile_region *a = mine, *b = its;
    void *joined = a->functions;
    take_name(&a->name, b->name);
    a->entries += b->entries;
    join_spread(&a->time, &b->time, ranks);
    join_spread(&a->mpi, &b->mpi, ranks);
    join_things(&joined, &a->function_count, b->functions, b->function_count, &functions, ranks);
    a->functions = joined;
}

static const struct kind regions = {sizeof(struct profile_region), same_region, add_region};

/* ---- Results ------------------------------------------------------------------------------------
 */

/* Each different ending once, in the order in which they came. */
static void join_ending(struct profile_result *result, const char *its)
{
    if (!result->ending)
        result->ending = qmpi_copy("unknown");
    its = its ? its : "unknown";
    const size_t length = strlen(its);
    for (const char *at = result->ending; (at = strstr(at, its)); at += length) {
        if ((at == result->ending || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return;
    }
    char *both = qmpi_format("%s, %s", result->ending, its);
    free(result->ending);
    result->ending = both;
}

/* By from, then to. */
static int compare_cells(const void *a, const void *b)
{
    const struct profile_cell *mine = a, *its = b;
    if (mine->from != its->from)
        return mine->from < its->from ? -1 : 1;
    return mine->to < its->to ? -1 : mine->to > its->to;
}

static void join_cells(struct profile_result *result, struct profile_result *other)
{
    const size_t count = result->cell_count + other->cell_count;
    struct profile_cell *all = qmpi_allocate(count, sizeof *all);
    size_t kept = 0;
    for (size_t i = 0; i < result->cell_count; i++)
        all[i] = result->matrix[i];
    for (size_t i = 0; i < other->cell_count; i++)
        all[result->cell_count + i] = other->matrix[i];
    qsort(all, count, sizeof *all, compare_cells);
    for (size_t i = 0; i < count; i++) {
        if (kept && !compare_cells(&all[kept - 1], &all[i])) {
            all[kept - 1].messages += all[i].messages;
            all[kept - 1].bytes += all[i].bytes;
        } else {
            all[kept++] = all[i];
        }
    }
    free(result->matrix);
    result->matrix = all;
    result->cell_count = kept;
}

static int compare_processes(const void *a, const void *b)
{
    const struct profile_process *mine = a, *its = b;
    return mine->rank < its->rank ? -1 : mine->rank > its->rank;
}

static void join_processes(struct profile_result *result, struct profile_result *other)
{
    const size_t count = result->process_count + other->process_count;
    struct profile_process *all = qmpi_allocate(count, sizeof *all);
    for (size_t i = 0; i < result->process_count; i++)
        all[i] = result->processes[i];
    for (size_t i = 0; i < other->process_count; i++)
        all[result->process_count + i] = other->processes[i];
    free(result->processes);
    result->processes = all;
    result->process_count = count;
    other->process_count = 0;
    qsort(all, count, sizeof *all, compare_processes);
}

void profile_join(struct profile_result *result, struct profile_result *other)
{
    const struct sides ranks = {result->ranks, other->ranks};
    void *array;
    join_spread(&result->application, &other->application, ranks);
    join_spread(&result->time, &other->time, ranks);
    join_processes(result, other);
    join_cells(result, other);
#define JOIN(ARRAY, COUNT, KIND)                                                                   \
    array = result->ARRAY;                                                                         \
    join_things(&array, &result->COUNT, other->ARRAY, other->COUNT, &KIND, ranks);                 \
    result->ARRAY = array;                                                                         \
    other->ARRAY = NULL;                                                                           \
    other->COUNT = 0
    JOIN(functions, function_count, functions);
    JOIN(callsites, callsite_count, callsites);
    JOIN(communicators, communicator_count, communicators);
    JOIN(files, file_count, files);
    JOIN(regions, region_count, regions);
#undef JOIN
    if (strcmp(other->begin, result->begin) < 0) {
        char *begin = result->begin;
        result->begin = other->begin;
        other->begin = begin;
    }
    join_ending(result, other->ending);
    result->ranks = ranks.mine + ranks.its;
    result->rank = -1;
    profile_result_free(other);
}
