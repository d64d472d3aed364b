/* SPDX-License-Identifier: MIT */
/* See result.h: figures, freeing, listing and ordering. */
#define _GNU_SOURCE
#include "profile/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(NAME, UNIT, COMBINE, HEADING, SINCE)                                                   \
    {#NAME, offsetof(struct profile_calls, NAME), PROFILE_##UNIT, PROFILE_##COMBINE, HEADING,      \
     SINCE},
const struct profile_figure profile_figures[] = {PROFILE_FIGURES(ROW)};

double profile_figure_get(const struct profile_calls *calls, int figure)
{
    double value;
    memcpy(&value, (const char *)calls + profile_figures[figure].offset, sizeof value);
    return value;
}

void profile_figure_set(struct profile_calls *calls, int figure, double value)
{
    memcpy((char *)calls + profile_figures[figure].offset, &value, sizeof value);
}

void profile_function_clear(struct profile_function *function)
{
    free(function->name);
    free(function->group);
    free(function->by_rank.all);
}

static void free_functions(struct profile_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        profile_function_clear(&functions[i]);
    free(functions);
}

static void free_frames(struct profile_frame *frames, int count)
{
    for (int i = 0; i < count; i++) {
        free(frames[i].module);
        free(frames[i].function);
        free(frames[i].file);
    }
    free(frames);
}

static void free_nodes(struct profile_region *region)
{
    for (size_t i = 0; i < region->node_count; i++)
        free(region->nodes[i].host);
    free(region->nodes);
}

void profile_callsite_clear(struct profile_callsite *callsite)
{
    free_frames(callsite->frames, callsite->frame_count);
    free(callsite->name);
    free(callsite->by_rank.all);
    free(callsite->waits.all);
}

void profile_flight_clear(struct profile_flight *flight)
{
    free_frames(flight->frames, flight->frame_count);
    free(flight->name);
    free(flight->since);
}

void profile_window_rank_clear(struct profile_window_rank *rank)
{
    free(rank->mpi);
    free(rank->profiled);
}

void profile_result_free(struct profile_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->process_count; i++)
        free(result->processes[i].host);
    for (size_t i = 0; i < result->communicator_count; i++)
        free(result->communicators[i].name);
    for (size_t i = 0; i < result->file_count; i++)
        free(result->files[i].name);
    for (size_t i = 0; i < result->region_count; i++) {
        free(result->regions[i].name);
        free_nodes(&result->regions[i]);
        free_functions(result->regions[i].functions, result->regions[i].function_count);
    }
    free_functions(result->functions, result->function_count);
    for (size_t i = 0; i < result->callsite_count; i++)
        profile_callsite_clear(&result->callsites[i]);
    free(result->callsites);
    for (size_t i = 0; i < result->flight_count; i++)
        profile_flight_clear(&result->flights[i]);
    free(result->flights);
    free(result->processes);
    free(result->communicators);
    free(result->files);
    free(result->regions);
    free(result->matrix);
    for (size_t i = 0; i < result->windows.rank_count; i++)
        profile_window_rank_clear(&result->windows.ranks[i]);
    free(result->windows.ranks);
    free(result->program);
    free(result->mpi);
    free(result->begin);
    free(result->termination);
    free(result);
}

bool profile_rank_is_listed(const struct profile_result *result, const struct profile_calls *calls,
                            const struct profile_rank_calls *rank)
{
    const double mean = calls->time.mean + calls->wait.mean;
    return result->every_rank || result->termination ||
           fabs(rank->time + rank->wait - mean) > PROFILE_DEVIATION * result->application.mean;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* What any of the things that are ordered is ordered by. */
struct rank {
    double most;
    const char *name;
};

static int compare_ranks(struct rank a, struct rank b)
{
    if (a.most != b.most)
        return a.most < b.most ? 1 : -1;
    return strcmp(a.name ? a.name : "", b.name ? b.name : "");
}

static struct rank rank_calls(const struct profile_calls *calls, const char *name,
                              enum profile_sort order)
{
    switch (order) {
    case PROFILE_BY_TIME:
        return (struct rank){calls->time.sum, name};
    case PROFILE_BY_CALLS:
        return (struct rank){(double)calls->calls, name};
    case PROFILE_BY_BYTES:
        return (struct rank){(double)calls->sent + (double)calls->received, name};
    case PROFILE_BY_NAME:
        break;
    }
    return (struct rank){0, name};
}

/* One comparison for each of the types that hold a name and calls. */
#define DEFINE_COMPARISON(TYPE)                                                                    \
    static int compare_##TYPE(const void *a, const void *b, void *order)                           \
    {                                                                                              \
        const struct profile_##TYPE *mine = a, *its = b;                                           \
        return compare_ranks(rank_calls(&mine->calls, mine->name, *(enum profile_sort *)order),    \
                             rank_calls(&its->calls, its->name, *(enum profile_sort *)order));     \
    }
DEFINE_COMPARISON(function)
DEFINE_COMPARISON(callsite)
DEFINE_COMPARISON(communicator)

static struct rank rank_file(const struct profile_file *file, enum profile_sort order)
{
    if (order == PROFILE_BY_BYTES)
        return (struct rank){(double)file->read + (double)file->written, file->name};
    return rank_calls(&file->calls, file->name, order);
}

static int compare_file(const void *a, const void *b, void *order)
{
    return compare_ranks(rank_file(a, *(enum profile_sort *)order),
                         rank_file(b, *(enum profile_sort *)order));
}

static struct rank rank_region(const struct profile_region *region, enum profile_sort order)
{
    struct rank rank = {0, region->name};
    if (order == PROFILE_BY_TIME)
        rank.most = region->time.sum;
    for (size_t i = 0; i < region->function_count; i++) {
        if (order == PROFILE_BY_CALLS || order == PROFILE_BY_BYTES)
            rank.most += rank_calls(&region->functions[i].calls, NULL, order).most;
    }
    return rank;
}

static int compare_region(const void *a, const void *b, void *order)
{
    return compare_ranks(rank_region(a, *(enum profile_sort *)order),
                         rank_region(b, *(enum profile_sort *)order));
}

/* qsort wants an array even where there is nothing to sort. */
static void sort(void *base, size_t count, size_t size,
                 int (*compare)(const void *, const void *, void *), enum profile_sort order)
{
    if (count > 1)
        qsort_r(base, count, size, compare, &order);
}

void profile_result_sort(struct profile_result *result, enum profile_sort order)
{
#define SORT(ARRAY, COUNT, TYPE) sort(ARRAY, COUNT, sizeof *(ARRAY), compare_##TYPE, order)
    SORT(result->functions, result->function_count, function);
    SORT(result->callsites, result->callsite_count, callsite);
    SORT(result->communicators, result->communicator_count, communicator);
    SORT(result->files, result->file_count, file);
    SORT(result->regions, result->region_count, region);
    for (size_t i = 0; i < result->region_count; i++)
        SORT(result->regions[i].functions, result->regions[i].function_count, function);
#undef SORT
}
