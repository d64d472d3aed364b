/* SPDX-License-Identifier: MIT */
/* See snapshot_parts.h: functions, over all of the run and by region. */
#define _GNU_SOURCE
#include "collect/snapshot_parts.h"

#include "path/now.h"
#include "record/regions.h"
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

/* What all threads noted of a function. */
struct function_sum {
    struct function_row row; /* the key: the function's number */
    struct stats stats;
};

/* Whether what was noted under a key belongs to the region; region -1: all does. */
static bool is_in(const struct regions *regions, uint64_t key, int region)
{
    return region < 0 || regions_hold(regions, call_key_node(key), region);
}

static struct function_sum *sum_of(struct table *sum, uint64_t key)
{
    const uint64_t number = (uint64_t)call_key_number(key);
    return table_get(sum, &number, 1);
}

/* Adds what one thread noted in the region. */
static bool add_thread(struct table *sum, const struct thread *thread, const struct layer *layer,
                       int region)
{
    const size_t depth = (size_t)layer->options.depth;
    struct table_place place = {0}, place_of_site = {0};
    for (const struct function_row *its; (its = table_next(&thread->functions, &place));) {
        if (!is_in(&layer->regions, its->key, region))
            continue;
        struct function_sum *to = sum_of(sum, its->key);
        if (!to)
            return false;
        add_words(to->row.sizes, its->sizes, PROFILE_SIZE_BINS);
        add_words(to->row.times, its->times, PROFILE_TIME_BINS);
    }
    for (uint64_t *its; (its = table_next(&thread->sites, &place_of_site));) {
        if (!is_in(&layer->regions, *its, region))
            continue;
        struct function_sum *to = sum_of(sum, *its);
        if (!to)
            return false;
        const struct site *site = site_of(its, depth);
        stats_add(&to->stats, &site->stats);
        to->row.times[note_time_bin(__atomic_load_n(&site->last, __ATOMIC_ACQUIRE))]++;
    }
    return true;
}

static bool add_flights(struct table *sum, const struct flights_seen *flights,
                        const struct regions *regions, int region)
{
    if (!is_in(regions, atomic_load(&regions->now), region))
        return true;
    for (size_t i = 0; i < flights->count; i++) {
        struct stats stats;
        if (!flight_stats(&flights->all[i], &stats))
            continue;
        struct function_sum *to = sum_of(sum, flights->all[i].number);
        if (!to)
            return false;
        stats_add(&to->stats, &stats);
        to->row.times[note_time_bin(stats.time)]++;
    }
    return true;
}

/* Calls that moved bytes are in one of the sizes; see change_bin. */
static uint64_t count_without_bytes(const struct function_sum *sum)
{
    uint64_t rest = sum->stats.calls;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        rest -= sum->row.sizes[i];
    return (int64_t)rest < 0 ? 0 : rest;
}

static bool fill(struct profile_function *function, const struct function_sum *sum, double tick,
                 int rank)
{
    const enum QMPI_Functions_enum number = (enum QMPI_Functions_enum)sum->row.key;
    const QMPIX_Function *described;
    if (QMPIX_Function_describe(number, &described) != MPI_SUCCESS)
        return false;
    function->name = strdup(described->name);
    function->group = strdup(group_name(described->group));
    function->ranks = 1;
    build_calls(&function->calls, &sum->stats, tick, rank);
    function->no_bytes = count_without_bytes(sum);
    memcpy(function->sizes, sum->row.sizes, sizeof function->sizes);
    memcpy(function->times, sum->row.times, sizeof function->times);
    return function->name && function->group;
}

static bool list(const struct layer *layer, int region, const struct flights_seen *flights,
                 double tick, struct profile_function **functions, size_t *count)
{
    struct table sum = {0};
    struct table_place place = {0};
    bool good = table_make(&sum, 1, sizeof(struct function_sum));
    for (const struct thread *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next)
        good = add_thread(&sum, thread, layer, region);
    good = good && add_flights(&sum, flights, &layer->regions, region);
    *functions = good ? calloc(sum.count + 1, sizeof **functions) : NULL;
    good = *functions != NULL;
    for (const struct function_sum *its; good && (its = table_next(&sum, &place));)
        good = !its->stats.calls || fill(&(*functions)[(*count)++], its, tick, layer->rank);
    table_free(&sum);
    return good;
}

bool build_functions(struct profile_result *result, const struct layer *layer,
                     const struct flights_seen *flights, double tick)
{
    return list(layer, -1, flights, tick, &result->functions, &result->function_count);
}

uint64_t build_share(const struct layer *layer, int region)
{
    const size_t depth = (size_t)layer->options.depth;
    uint64_t ticks = 0;
    for (const struct thread *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (uint64_t *its; (its = table_next(&thread->sites, &place));) {
            const struct stats *stats = &site_of(its, depth)->stats;
            if (!(*its & CALL_APART) && is_in(&layer->regions, *its, region))
                ticks += __atomic_load_n(&stats->time, __ATOMIC_RELAXED) +
                         __atomic_load_n(&stats->wait, __ATOMIC_RELAXED);
        }
    }
    return ticks;
}

/* Also one whose first call is under way: its call site is noted when the call begins. */
static bool has_called(const struct layer *layer, const struct thread *thread, int region)
{
    struct table_place place = {0};
    for (const uint64_t *its; (its = table_next(&thread->sites, &place));) {
        if (!(*its & CALL_APART) && is_in(&layer->regions, *its, region))
            return true;
    }
    return false;
}

int build_thread_count(const struct layer *layer, int region)
{
    int threads = 0;
    for (const struct thread *thread = threads_first(layer->tool_id); thread; thread = thread->next)
        threads += !thread->is_deeper && has_called(layer, thread, region);
    return threads ? threads : 1;
}

double build_useful(const struct layer *layer, int region, double time, double mpi)
{
    const double useful = time - mpi / build_thread_count(layer, region);
    return useful > 0 ? useful : 0;
}

static uint64_t region_mpi(const struct layer *layer, int region,
                           const struct flights_seen *flights)
{
    const bool is_open = is_in(&layer->regions, atomic_load(&layer->regions.now), region);
    return build_share(layer, region) + (is_open ? build_flight_share(layer, flights) : 0);
}

static double build_region_path(const struct layer *layer, const struct region *region)
{
    uint64_t path = region->path;
    if (region->open && layer->path)
        path += path_now(layer) - region->path_since;
    return path_clocks_to_seconds(path);
}

static bool build_node(struct profile_region *region, const struct layer *layer, int number)
{
    const double useful = build_useful(layer, number, region->time.sum, region->mpi.sum);
    region->useful = build_spread(useful, layer->rank);
    region->nodes = calloc(1, sizeof *region->nodes);
    if (!region->nodes)
        return false;
    region->node_count = 1;
    *region->nodes = (struct profile_node){build_host(), useful};
    return region->nodes->host != NULL;
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
            time += regions_time(regions, flights->moment) - its->since;
        region->name = strdup(its->name);
        region->entries = its->entries;
        region->time = build_spread((double)time * tick, layer->rank);
        region->path = build_region_path(layer, its);
        region->mpi = build_spread((double)region_mpi(layer, number, flights) * tick, layer->rank);
        good = region->name && build_node(region, layer, number) &&
               list(layer, number, flights, tick, &region->functions, &region->function_count);
    }
    return good;
}
