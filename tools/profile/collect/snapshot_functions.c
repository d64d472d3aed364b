/* SPDX-License-Identifier: MIT */
/* See snapshot_parts.h: functions, over all of the run and by region. */
#define _GNU_SOURCE
#include "collect/snapshot_parts.h"

#include "record/regions.h"
#include "record/ticks.h"
#include "toolkit/toolkit.h"

#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>

static const char *group_name(unsigned group)
{
    static const char *const names[] = {
        "point-to-point", "completion",   "collective",      "one-sided", "I/O",
        "datatype",       "communicator", "group",           "topology",  "environment",
        "info",           "process",      "tool information"};
    return group ? names[__builtin_ctz(group)] : "";
}

static void add_words(uint64_t *sum, const uint64_t *more, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += __atomic_load_n(&more[i], __ATOMIC_RELAXED);
}

/* Adds what one thread noted in those nodes that hold the region; region -1: in all. */
static bool add_thread(struct table *sum, const struct thread *thread,
                       const struct regions *regions, int region)
{
    struct table_place place = {0};
    for (const struct function_row *its; (its = table_next(&thread->functions, &place));) {
        const uint64_t number = its->key & UINT32_MAX;
        if (region >= 0 && !regions_hold(regions, (int)(its->key >> 32), region))
            continue;
        struct function_row *row = table_get(sum, &number, 1);
        if (!row)
            return false;
        stats_add(&row->stats, &its->stats);
        add_words(&row->no_bytes, &its->no_bytes, 1);
        add_words(row->sizes, its->sizes, PROFILE_SIZE_BINS);
        add_words(row->times, its->times, PROFILE_TIME_BINS);
    }
    return true;
}

static bool add_flights(struct table *sum, const struct flights_seen *flights,
                        const struct regions *regions, int region)
{
    if (region >= 0 && !regions_hold(regions, atomic_load(&regions->node), region))
        return true;
    for (size_t i = 0; i < flights->count; i++) {
        struct stats stats;
        if (!flight_stats(&flights->all[i], &stats))
            continue;
        struct function_row *row = table_get(sum, &flights->all[i].number, 1);
        if (!row)
            return false;
        stats_add(&row->stats, &stats);
        row->no_bytes++;
        row->times[note_bin(ticks_nanoseconds(stats.time), PROFILE_TIME_BINS)]++;
    }
    return true;
}

static bool fill(struct profile_function *function, const struct function_row *row, double tick)
{
    const QMPIX_Function *described;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)row->key, &described) != MPI_SUCCESS)
        return false;
    function->name = strdup(described->name);
    function->group = strdup(group_name(described->group));
    build_calls(&function->calls, &row->stats, tick);
    function->no_bytes = (int64_t)row->no_bytes < 0 ? 0 : row->no_bytes; /* see change_bin */
    memcpy(function->sizes, row->sizes, sizeof function->sizes);
    memcpy(function->times, row->times, sizeof function->times);
    return function->name && function->group;
}

static bool list(const struct layer *layer, int region, const struct flights_seen *flights,
                 double tick, struct profile_function **functions, size_t *count)
{
    struct table sum = {0};
    struct table_place place = {0};
    bool good = table_make(&sum, 1, sizeof(struct function_row));
    for (const struct thread *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next)
        good = add_thread(&sum, thread, &layer->regions, region);
    good = good && add_flights(&sum, flights, &layer->regions, region);
    *functions = good ? calloc(sum.count + 1, sizeof **functions) : NULL;
    good = *functions != NULL;
    for (const struct function_row *row; good && (row = table_next(&sum, &place));)
        good = fill(&(*functions)[(*count)++], row, tick);
    table_free(&sum);
    return good;
}

bool build_functions(struct profile_result *result, const struct layer *layer,
                     const struct flights_seen *flights, double tick)
{
    return list(layer, -1, flights, tick, &result->functions, &result->function_count);
}

static uint64_t region_mpi(const struct layer *layer, int region,
                           const struct flights_seen *flights)
{
    const bool is_open = regions_hold(&layer->regions, atomic_load(&layer->regions.node), region);
    uint64_t ticks = is_open ? build_flight_share(layer, flights) : 0;
    for (const struct thread *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (const struct node_row *node; (node = table_next(&thread->nodes, &place));) {
            if (regions_hold(&layer->regions, (int)node->key, region))
                ticks += __atomic_load_n(&node->mpi, __ATOMIC_RELAXED);
        }
    }
    return ticks;
}

bool build_regions(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick)
{
    const struct regions *regions = &layer->regions;
    result->regions = calloc((size_t)regions->count + 1, sizeof *result->regions);
    bool good = result->regions != NULL;
    for (int number = 0; good && number < regions->count; number++) {
        const struct region *its = &regions->all[number];
        struct profile_region *region = &result->regions[result->region_count++];
        uint64_t time = its->time;
        if (its->open)
            time += regions_time(regions) - its->since;
        region->name = strdup(its->name);
        region->entries = its->entries;
        region->time = build_spread((double)time * tick);
        region->mpi = build_spread((double)region_mpi(layer, number, flights) * tick);
        good = region->name &&
               list(layer, number, flights, tick, &region->functions, &region->function_count);
    }
    return good;
}
