/* SPDX-License-Identifier: MIT */
/* See rank_calls.h. */
#define _GNU_SOURCE
#include "tools/profile/collect/rank_calls.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/closed.h"
#include "tools/profile/record/python.h"
#include "tools/profile/record/regions.h"
#include "tools/profile/record/traits.h"
#include "tools/profile/result/profile.h"

#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct profile_spread rank_spread(double value, int rank)
{
    return (struct profile_spread){value, value, value, value, 0, rank, rank};
}

#define IN_TIME(TICKS) ((double)(TICKS)*tick)
#define IN_COUNT(COUNT) ((double)(COUNT))
#define BUILD_FIGURE(NAME, UNIT, COMBINE, HEADING, SINCE) .NAME = IN_##UNIT(stats->NAME),

void rank_calls_convert(struct profile_calls *calls, const struct thread_stats *stats,
                        const struct rank_build *build)
{
    const double tick = build->tick;
    const int rank = build->layer->rank;
    *calls = (struct profile_calls){
        .calls = stats->calls,
        .time = rank_spread((double)stats->time * tick, rank),
        PROFILE_FIGURES(BUILD_FIGURE).wait = rank_spread((double)stats->wait * tick, rank),
        .sent = stats->sent,
        .received = stats->received,
    };
}

char *rank_host(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strdup(host);
}

uint64_t rank_flight_mpi_ticks(const struct rank_build *build)
{
    const struct flights_seen *flights = build->flights;
    uint64_t ticks = 0;
    for (size_t i = 0; i < flights->count && regions_have_begun(&build->layer->regions); i++) {
        struct thread_stats stats;
        if (flights->all[i].outermost && flight_stats(&flights->all[i], &stats))
            ticks += stats.time + stats.wait;
    }
    return ticks;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void add_bins(uint64_t *sum, const uint64_t *more, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += __atomic_load_n(&more[i], __ATOMIC_RELAXED);
}

/* The figures of a function, summed up over the threads. */
struct function_sum {
    /* The key of `row` has the number of the function in its low 32 bits. The high 32 bits are the
     * number of a region, or of a node of open regions (see struct layer_region_node). */
    struct thread_function_row row;
    struct thread_stats stats;
    uint64_t share; /* the part of `time` and `wait` that counts as time in MPI (see CALL_APART) */
};

static struct function_sum *find_function_sum(struct table *sum, uint64_t part, int number)
{
    const uint64_t key = part << 32 | (uint64_t)number;
    return table_get(sum, &key, 1);
}

static uint64_t read_share(const struct thread_stats *stats)
{
    return __atomic_load_n(&stats->time, __ATOMIC_RELAXED) +
           __atomic_load_n(&stats->wait, __ATOMIC_RELAXED);
}

/* Adds the figures of one thread. With `by_node`, the sums are separate for each node of open
 * regions. */
static bool add_thread_functions(struct table *sum, const struct thread_profile *thread,
                                 const struct layer *layer, bool by_node)
{
    const size_t depth = (size_t)layer->options.depth;
    struct table_place place = {0}, place_of_site = {0};
    for (const struct thread_function_row *its; (its = table_next(&thread->functions, &place));) {
        const uint64_t node = by_node ? (uint64_t)thread_key_node(its->key) : 0;
        struct function_sum *to = find_function_sum(sum, node, thread_key_function(its->key));
        if (!to)
            return false;
        add_bins(to->row.sizes, its->sizes, PROFILE_SIZE_BINS);
        add_bins(to->row.times, its->times, THREAD_TIME_BINS);
    }
    for (uint64_t *its; (its = table_next(&thread->sites, &place_of_site));) {
        const uint64_t node = by_node ? (uint64_t)thread_key_node(*its) : 0;
        struct function_sum *to = find_function_sum(sum, node, thread_key_function(*its));
        if (!to)
            return false;
        const struct thread_site *site = thread_site_of(its, depth);
        thread_stats_add(&to->stats, &site->stats);
        to->row.times[thread_time_bin(__atomic_load_n(&site->last, __ATOMIC_ACQUIRE))]++;
        to->share += *its & CALL_APART ? 0 : read_share(&site->stats);
    }
    return true;
}

static bool add_flights_to_functions(struct table *sum, const struct flights_seen *flights,
                                     int node)
{
    for (size_t i = 0; i < flights->count; i++) {
        struct thread_stats stats;
        if (!flight_stats(&flights->all[i], &stats))
            continue;
        struct function_sum *to = find_function_sum(sum, (uint64_t)node, flights->all[i].number);
        if (!to)
            return false;
        thread_stats_add(&to->stats, &stats);
        to->row.times[thread_time_bin(stats.time)]++;
    }
    return true;
}

static bool sum_functions(struct table *sum, const struct rank_build *build, bool by_node)
{
    const struct layer *layer = build->layer;
    bool good = true;
    for (const struct thread_profile *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next)
        good = add_thread_functions(sum, thread, layer, by_node);
    return good && add_flights_to_functions(sum, build->flights,
                                            by_node ? regions_node(&layer->regions) : 0);
}

/* Returns the number of calls that moved no bytes. All other calls are in a bin of sizes. */
static uint64_t count_without_bytes(const struct function_sum *sum)
{
    uint64_t rest = sum->stats.calls;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        rest -= sum->row.sizes[i];
    return (int64_t)rest < 0 ? 0 : rest;
}

static bool fill_function(struct profile_function *function, const struct function_sum *sum,
                          const struct rank_build *build)
{
    const enum QMPI_Functions_enum number =
        (enum QMPI_Functions_enum)thread_key_function(sum->row.key);
    const QMPIX_Function *described;
    if (QMPIX_Function_describe(number, &described) != MPI_SUCCESS)
        return false;
    function->name = strdup(described->name);
    function->group = strdup(qmpi_value_group_name(described->group));
    function->ranks = 1;
    rank_calls_convert(&function->calls, &sum->stats, build);
    function->no_bytes = count_without_bytes(sum);
    memcpy(function->sizes, sum->row.sizes, sizeof function->sizes);
    for (int i = 0; i < THREAD_TIME_BINS; i++)
        function->times[i < PROFILE_TIME_BINS ? i : PROFILE_TIME_BINS - 1] += sum->row.times[i];
    return function->name && function->group;
}

bool rank_build_functions(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    struct table sum = {0};
    struct table_place place = {0};
    bool good =
        table_make(&sum, 1, sizeof(struct function_sum)) && sum_functions(&sum, build, false);
    result->functions = good ? calloc(sum.count + 1, sizeof *result->functions) : NULL;
    good = result->functions != NULL;
    for (const struct function_sum *its; good && (its = table_next(&sum, &place));)
        good = !its->stats.calls ||
               fill_function(&result->functions[result->function_count++], its, build);
    table_free(&sum);
    return good;
}

uint64_t rank_mpi_ticks(const struct layer *layer)
{
    const size_t depth = (size_t)layer->options.depth;
    uint64_t ticks = 0;
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (uint64_t *its; (its = table_next(&thread->sites, &place));)
            ticks += *its & CALL_APART ? 0 : read_share(&thread_site_of(its, depth)->stats);
    }
    return ticks;
}

/* Returns whether a thread has made a call that counts as time in MPI (see CALL_APART). This
 * includes a thread whose first call is in progress, because the call site is added when the call
 * begins. */
static bool has_thread_called(const struct thread_profile *thread)
{
    struct table_place place = {0};
    for (const uint64_t *its; (its = table_next(&thread->sites, &place));) {
        if (!(*its & CALL_APART))
            return true;
    }
    return false;
}

int rank_thread_count(const struct layer *layer)
{
    int threads = 0;
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next)
        threads += !thread->is_deeper && has_thread_called(thread);
    return threads ? threads : 1;
}

double rank_useful(int threads, double time, double mpi)
{
    const double useful = time - mpi / threads;
    return useful > 0 ? useful : 0;
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* The sums for one region. The calls counted under a node are added to each region of the node. */
struct region_sum {
    size_t functions; /* the number of its rows in the table of functions */
    uint64_t share;   /* the ticks in MPI */
    int threads;      /* the number of threads that called MPI in the region */
    int last_thread;  /* the number of the last thread that was counted */
    bool is_open;
};

struct region_sums {
    struct region_sum *all; /* [region] */
    struct table functions; /* The rows are struct function_sum, by region and function. */
    const struct function_sum *its;
    int thread;
    bool good;
};

static void add_function_to_region(void *data, int region)
{
    struct region_sums *sums = data;
    const size_t before = sums->functions.count;
    struct function_sum *to = find_function_sum(&sums->functions, (uint64_t)region,
                                                thread_key_function(sums->its->row.key));
    sums->good = sums->good && to;
    if (!to)
        return;
    sums->all[region].functions += sums->functions.count - before;
    sums->all[region].share += sums->its->share;
    add_bins(to->row.sizes, sums->its->row.sizes, PROFILE_SIZE_BINS);
    add_bins(to->row.times, sums->its->row.times, THREAD_TIME_BINS);
    thread_stats_add(&to->stats, &sums->its->stats);
}

static void add_caller_to_region(void *data, int region)
{
    struct region_sums *sums = data;
    struct region_sum *sum = &sums->all[region];
    sum->threads += sum->last_thread != sums->thread;
    sum->last_thread = sums->thread;
}

static void set_region_open(void *data, int region)
{
    struct region_sums *sums = data;
    sums->all[region].is_open = true;
}

/* Counts each thread once in each region in which it called MPI. */
static bool count_callers(struct region_sums *sums, const struct layer *layer)
{
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        struct table seen = {0}; /* the nodes under which the thread has call sites */
        struct table_place place = {0}, node = {0};
        if (thread->is_deeper)
            continue;
        if (!table_make(&seen, 1, sizeof(uint64_t)))
            return false;
        bool good = true;
        for (const uint64_t *its; good && (its = table_next(&thread->sites, &place));) {
            const uint64_t key = (uint64_t)thread_key_node(*its);
            good = *its & CALL_APART || table_get(&seen, &key, 1);
        }
        sums->thread++;
        for (const uint64_t *its; (its = table_next(&seen, &node));)
            regions_visit(&layer->regions, (int)*its, add_caller_to_region, sums);
        table_free(&seen);
        if (!good)
            return false;
    }
    return true;
}

static bool sum_regions(struct region_sums *sums, const struct rank_build *build)
{
    const struct layer_regions *regions = &build->layer->regions;
    struct table by_node = {0};
    struct table_place place = {0};
    sums->all = calloc((size_t)regions->count + 1, sizeof *sums->all);
    sums->good = sums->all && table_make(&sums->functions, 1, sizeof(struct function_sum)) &&
                 table_make(&by_node, 1, sizeof(struct function_sum)) &&
                 sum_functions(&by_node, build, true);
    while (sums->good && (sums->its = table_next(&by_node, &place)))
        regions_visit(regions, thread_key_node(sums->its->row.key), add_function_to_region, sums);
    table_free(&by_node);
    if (sums->good)
        regions_visit(regions, regions_node(regions), set_region_open, sums);
    return sums->good && count_callers(sums, build->layer);
}

static bool fill_region_node(struct profile_region *region, const struct layer *layer,
                             const struct region_sum *sum)
{
    const int threads = sum->threads ? sum->threads : 1;
    const double useful = rank_useful(threads, region->time.sum, region->mpi.sum);
    region->useful = rank_spread(useful, layer->rank);
    region->nodes = calloc(1, sizeof *region->nodes);
    if (!region->nodes)
        return false;
    region->node_count = 1;
    *region->nodes = (struct profile_node){rank_host(), useful};
    return region->nodes->host != NULL;
}

static bool fill_region(struct profile_region *region, int number, const struct region_sum *sum,
                        const struct rank_build *build)
{
    const struct layer *layer = build->layer;
    const struct layer_region *its = &layer->regions.all[number];
    uint64_t time = its->time, mpi = sum->share;
    if (its->open)
        time += regions_time(&layer->regions, build->flights->moment) - its->since;
    if (sum->is_open)
        mpi += rank_flight_mpi_ticks(build);
    region->name = strdup(its->name);
    region->entries = its->entries;
    region->time = rank_spread((double)time * build->tick, layer->rank);
    region->mpi = rank_spread((double)mpi * build->tick, layer->rank);
    region->functions = calloc(sum->functions + 1, sizeof *region->functions);
    return region->name && region->functions && fill_region_node(region, layer, sum);
}

static bool fill_region_functions(const struct region_sums *sums, const struct rank_build *build)
{
    struct table_place place = {0};
    bool good = true;
    for (const struct function_sum *its; good && (its = table_next(&sums->functions, &place));) {
        struct profile_region *region = &build->result->regions[thread_key_node(its->row.key)];
        good = !its->stats.calls ||
               fill_function(&region->functions[region->function_count++], its, build);
    }
    return good;
}

bool rank_build_regions(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    const int count = build->layer->regions.count;
    struct region_sums sums = {0};
    result->regions = calloc((size_t)count + 1, sizeof *result->regions);
    bool good = result->regions && (!count || sum_regions(&sums, build));
    for (int number = 0; good && number < count; number++)
        good =
            fill_region(&result->regions[result->region_count++], number, &sums.all[number], build);
    good = good && fill_region_functions(&sums, build);
    table_free(&sums.functions);
    free(sums.all);
    return good;
}

/* ---- The call sites of all threads ----------------------------------------------------------- */

/* Returns the sum over the call sites of a function that have the same frames. Returns NULL if
 * memory is exhausted. */
static struct thread_site *find_site_sum(struct table *sum, const uint64_t *key, size_t depth)
{
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {(uint64_t)thread_key_function(key[0])};
    memcpy(words + 1, key + 1, depth * sizeof *words);
    uint64_t *row = table_get(sum, words, 1 + depth);
    return row ? thread_site_of(row, depth) : NULL;
}

static bool add_thread_sites(struct table *sum, const struct thread_profile *thread, size_t depth)
{
    struct table_place place = {0};
    for (uint64_t *its; (its = table_next(&thread->sites, &place));) {
        struct thread_site *site = find_site_sum(sum, its, depth);
        if (!site)
            return false;
        thread_stats_add(&site->stats, &thread_site_of(its, depth)->stats);
        site->more_messages +=
            __atomic_load_n(&thread_site_of(its, depth)->more_messages, __ATOMIC_RELAXED);
    }
    return true;
}

/* Returns the number of messages, or 0 if it would be negative. A call that is being counted
 * meanwhile may be in only one of `calls` and `more_messages`. */
static uint64_t count_messages(const struct thread_site *site, uint64_t function)
{
    const uint64_t messages =
        site->stats.calls * traits_messages(&traits_all[function]) + site->more_messages;
    return (int64_t)messages < 0 ? 0 : messages;
}

static bool add_flights_to_sites(struct table *sum, const struct flights_seen *flights,
                                 size_t depth)
{
    for (size_t i = 0; i < flights->count; i++) {
        const struct flight_seen *flight = &flights->all[i];
        struct thread_stats stats;
        if (!flight->site || !flight_stats(flight, &stats))
            continue;
        struct thread_site *site = find_site_sum(sum, thread_site_key(flight->site, depth), depth);
        if (!site)
            return false;
        thread_stats_add(&site->stats, &stats);
    }
    return true;
}

/* A line of Python is identified by its file and number instead of a module and an offset. */
static bool copy_python_frame(struct profile_frame *frame, const struct python_line *line)
{
    *frame = (struct profile_frame){.offset = (uint64_t)line->line,
                                    .module = strdup(line->file),
                                    .function = strdup(line->function),
                                    .file = strdup(line->file),
                                    .line = line->line};
    return frame->module && frame->function && frame->file;
}

bool rank_calls_copy_frames(struct profile_frame *frames, int *count, const uint64_t *key,
                            size_t depth)
{
    for (size_t i = 0; i < depth && (key[1 + i] || i == 0); i++) {
        struct profile_frame *frame = &frames[(*count)++];
        const struct python_line *line = python_find_line(key[1 + i]);
        if (line) {
            if (!copy_python_frame(frame, line))
                return false;
            continue;
        }
        const struct closed_place *closed = closed_find(key[1 + i]);
        const char *library = closed ? closed->library : "";
        size_t offset = closed ? closed->offset : key[1 + i];
        if (!closed)
            QMPIX_Address_find((const void *)(uintptr_t)key[1 + i], &library, &offset);
        frame->offset = offset;
        frame->module = strdup(library);
        if (!frame->module)
            return false;
    }
    return true;
}

/* ---- Waiting for peers ----------------------------------------------------------------------- */

/* The time that one thread waited for a peer. `row` is the row of the call site in the table of the
 * sums over all threads. */
struct wait_sum {
    const uint64_t *row;
    int peer;
    uint64_t calls, time;
};
struct wait_sums {
    struct wait_sum *all;
    size_t count;
};

static int compare_wait_sums(const void *a, const void *b)
{
    const struct wait_sum *mine = a, *its = b;
    const uintptr_t my_row = (uintptr_t)mine->row, its_row = (uintptr_t)its->row;
    return (my_row > its_row) - (my_row < its_row);
}

static void add_wait_sum(struct wait_sums *waits, struct table *sum, size_t depth,
                         const struct thread_wait_row *its)
{
    const struct thread_site *site = (const struct thread_site *)(uintptr_t)its->key[0];
    uint64_t words[1 + PROFILE_DEPTH_MAX];
    memcpy(words, thread_site_key(site, depth), (1 + depth) * sizeof *words);
    words[0] = (uint64_t)thread_key_function(words[0]);
    waits->all[waits->count++] = (struct wait_sum){
        .row = table_find(sum, words, 1 + depth),
        .peer = (int)(int64_t)its->key[1],
        .calls = __atomic_load_n(&its->calls, __ATOMIC_RELAXED),
        .time = __atomic_load_n(&its->time, __ATOMIC_RELAXED),
    };
}

/* Lists the waits of all threads, except rows that are added meanwhile. Returns false if memory is
 * exhausted. */
static bool sum_waits(struct wait_sums *waits, const struct layer *layer, struct table *sum)
{
    size_t room = 1;
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next)
        room += thread->peer_waits.count;
    *waits = (struct wait_sums){calloc(room, sizeof *waits->all), 0};
    for (const struct thread_profile *thread = threads_first(layer->tool_id); waits->all && thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (const struct thread_wait_row *its;
             waits->count < room && (its = table_next(&thread->peer_waits, &place));)
            add_wait_sum(waits, sum, (size_t)layer->options.depth, its);
    }
    if (waits->count > 1)
        qsort(waits->all, waits->count, sizeof *waits->all, compare_wait_sums);
    return waits->all != NULL;
}

static bool fill_waits(struct profile_callsite *callsite, const struct wait_sums *waits,
                       const uint64_t *row, const struct rank_build *build)
{
    const int rank = build->layer->rank;
    const struct wait_sum key = {.row = row};
    const struct wait_sum *found =
        waits->count ? bsearch(&key, waits->all, waits->count, sizeof key, compare_wait_sums)
                     : NULL;
    const struct wait_sum *const end = waits->all + waits->count;
    while (found && found > waits->all && found[-1].row == row)
        found--;
    for (; found && found < end && found->row == row; found++) {
        if (found->peer == rank) /* The process sent the message to itself. */
            continue;
        struct profile_wait wait = {rank, found->peer, found->calls,
                                    (double)found->time * build->tick};
        const struct profile_waits more = {&wait, 1};
        if (!merge_prepare_waits(&callsite->waits, &more))
            return false;
        merge_waits(&callsite->waits, &more, true);
    }
    return true;
}

/* ---- Results of call sites ------------------------------------------------------------------- */

static bool fill_callsite(struct profile_callsite *callsite, uint64_t *site,
                          const struct rank_build *build)
{
    const size_t depth = (size_t)build->layer->options.depth;
    const char *name = QMPIX_Function_name((enum QMPI_Functions_enum)site[0]);
    callsite->name = strdup(name ? name : "");
    callsite->frames = calloc(depth, sizeof *callsite->frames);
    callsite->ranks = 1;
    callsite->messages = count_messages(thread_site_of(site, depth), site[0]);
    rank_calls_convert(&callsite->calls, &thread_site_of(site, depth)->stats, build);
    return callsite->name && callsite->frames &&
           rank_calls_copy_frames(callsite->frames, &callsite->frame_count, site, depth);
}

/* ---- Modules that were loaded again, so that one place has two addresses --------------------- */

/* Adds one call site to another one that is the same place. Because both belong to this rank, the
 * merged figures must count as those of one rank, not of two. */
static void add_reloaded_site(struct profile_callsite *into, struct profile_callsite *from)
{
    const struct merge_sides sides = {.mine = {.ranks = 1}, .its = {.ranks = 1}};
    const int rank = into->calls.time.min_rank;
    into->messages += from->messages;
    if (merge_prepare_waits(&into->waits, &from->waits))
        merge_waits(&into->waits, &from->waits, true);
    merge_calls(&into->calls, &from->calls, &sides);
    into->calls.time = rank_spread(into->calls.time.sum, rank);
    into->calls.wait = rank_spread(into->calls.wait.sum, rank);
    members_free(&members_callsite, from);
}

static void combine_reloaded_sites(struct profile_result *result)
{
    struct profile_callsite *all = result->callsites;
    size_t saved = 0;
    qsort(all, result->callsite_count, sizeof *all, merge_compare_callsites);
    for (size_t i = 0; i < result->callsite_count; i++) {
        if (saved && !merge_compare_callsites(&all[saved - 1], &all[i]))
            add_reloaded_site(&all[saved - 1], &all[i]);
        else
            all[saved++] = all[i];
    }
    result->callsite_count = saved;
}

/* Call sites without calls are left out. Such a site was added when its first call began, but that
 * call is neither counted nor listed as in progress. */
bool rank_build_callsites(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    const struct layer *layer = build->layer;
    const size_t depth = (size_t)layer->options.depth;
    struct table sum = {0};
    struct table_place place = {0};
    struct wait_sums waits = {NULL, 0};
    bool good = table_make(&sum, 1 + depth, SITE_SIZE(depth));
    for (const struct thread_profile *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next)
        good = add_thread_sites(&sum, thread, depth);
    good = good && add_flights_to_sites(&sum, build->flights, depth);
    result->callsites = good ? calloc(sum.count + 1, sizeof *result->callsites) : NULL;
    good = result->callsites != NULL;
    good = good && sum_waits(&waits, layer, &sum);
    for (uint64_t *site; good && (site = table_next(&sum, &place));) {
        struct profile_callsite *callsite = &result->callsites[result->callsite_count];
        if (!thread_site_of(site, depth)->stats.calls)
            continue;
        result->callsite_count++;
        good = fill_callsite(callsite, site, build) && fill_waits(callsite, &waits, site, build);
    }
    free(waits.all);
    if (good)
        combine_reloaded_sites(result);
    table_free(&sum);
    return good;
}
