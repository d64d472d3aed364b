/* SPDX-License-Identifier: MIT */
/* See profile.h. Makes a result for each process, as tools/profile/collect does, and merges these
 * like the results of a run. */
#define _GNU_SOURCE
#include "tools/trace/profile/profile.h"

#include "tools/trace/file/map.h"
#include "tools/trace/profile/path.h"
#include "tools/trace/profile/sums.h"
#include "util/util.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_per_tick(const struct trace_sums *sums)
{
    return sums->process->tick * 1e-9;
}

static int rank_of(const struct trace_sums *sums)
{
    return sums->process->rank >= 0 ? sums->process->rank : 0;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void add_function(struct trace_sums_function *to, const struct trace_sums_function *more)
{
    struct trace_sums_calls *sums = &to->sums;
    if (!more->sums.calls)
        return;
    if (!sums->calls || more->sums.shortest < sums->shortest)
        sums->shortest = more->sums.shortest;
    if (more->sums.longest > sums->longest)
        sums->longest = more->sums.longest;
    sums->calls += more->sums.calls;
    sums->time += more->sums.time;
    sums->polling += more->sums.polling;
    sums->sent += more->sums.sent;
    sums->received += more->sums.received;
    to->in_mpi += more->in_mpi;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        to->sizes[i] += more->sizes[i];
    for (int i = 0; i < PROFILE_TIME_BINS; i++)
        to->times[i] += more->times[i];
}

static bool fill_function(const struct trace_sums *sums, struct profile_function *function,
                          const struct trace_sums_function *its)
{
    const struct trace_function *described = &sums->process->functions[its->function];
    function->name = strdup(described->name);
    /* Traces of older versions contain the name of this group as options spell it, with a hyphen.
     */
    function->group = strdup(strcmp(described->group, "tool-information") ? described->group
                                                                          : "tool information");
    function->ranks = 1;
    trace_sums_fill(&function->calls, &its->sums, seconds_per_tick(sums), rank_of(sums));
    uint64_t without = its->sums.calls;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        without -= its->sizes[i];
    function->no_bytes = (int64_t)without < 0 ? 0 : without;
    memcpy(function->sizes, its->sizes, sizeof function->sizes);
    memcpy(function->times, its->times, sizeof function->times);
    return function->name && function->group;
}

static bool fill_functions(const struct trace_sums *sums, struct profile_result *result)
{
    const size_t all = sums->process->function_count;
    struct trace_sums_function *by_function = calloc(all + 1, sizeof *by_function);
    result->functions = calloc(all + 1, sizeof *result->functions);
    bool good = by_function && result->functions;
    for (size_t i = 0; good && i < sums->function_keys.count; i++)
        add_function(&by_function[sums->functions[i].function], &sums->functions[i]);
    for (size_t i = 0; good && i < all; i++) {
        by_function[i].function = (uint32_t)i;
        if (by_function[i].sums.calls)
            good =
                fill_function(sums, &result->functions[result->function_count++], &by_function[i]);
    }
    free(by_function);
    return good;
}

static double time_in_mpi(const struct trace_sums *sums)
{
    uint64_t time = 0;
    for (size_t i = 0; i < sums->function_keys.count; i++)
        time += sums->functions[i].in_mpi;
    return (double)time * seconds_per_tick(sums);
}

/* Returns the number of threads that called MPI in application time, or 1 if there is none. */
static int count_threads(const struct trace_sums *sums)
{
    int threads = 0;
    bool *seen = calloc(sums->location_count + 1, sizeof *seen);
    for (size_t i = 0; seen && i < sums->callers.count; i++) {
        const uint32_t *caller = sums->callers.keys[i].data;
        threads += !seen[caller[0]];
        seen[caller[0]] = true;
    }
    free(seen);
    return threads ? threads : 1;
}

/* Returns the part of `time` that is left for the program. `mpi` is the time in MPI, summed over
 * the threads that called MPI. */
static double useful_time(int threads, double time, double mpi)
{
    const double rest = time - mpi / threads;
    return rest > 0 ? rest : 0;
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* A function that was called, or a thread that called, while a set of regions was open. */
struct item {
    struct item *next; /* the next item of the same set */
    /* Number of the function; the numbers of threads follow those of all functions. */
    uint32_t number;
    struct trace_sums_function *sums; /* NULL if the item is a thread */
};

/*
 * The items of each set are added to the two sets that it joins, from the last set to the first
 * one. Each set is therefore complete when its turn comes. In the end, only the items of single
 * regions are left. Because sets share their parts, this takes far fewer steps than adding the
 * items to each region of each set.
 */
struct region_items {
    const struct trace_sums *sums;
    struct item **all;       /* [set]: the first item */
    struct qmpi_table known; /* set and number -> struct item * */
};

static struct item *find_item(struct region_items *items, uint32_t node, uint32_t number,
                              bool is_function)
{
    struct item **place = qmpi_table_put(&items->known, (uint64_t)node << 32 | number);
    if (!place || *place)
        return place ? *place : NULL;
    struct item *item = calloc(1, sizeof *item + (is_function ? sizeof *item->sums : 0));
    if (!item) {
        qmpi_table_remove(&items->known, (uint64_t)node << 32 | number);
        return NULL;
    }
    *item = (struct item){items->all[node], number,
                          is_function ? (struct trace_sums_function *)(item + 1) : NULL};
    items->all[node] = item;
    return *place = item;
}

static bool add_item(struct region_items *items, uint32_t node, uint32_t number,
                     const struct trace_sums_function *sums)
{
    struct item *item = find_item(items, node, number, sums);
    if (item && sums)
        add_function(item->sums, sums);
    return item;
}

static void free_items(struct region_items *items, uint32_t node)
{
    for (struct item *item; (item = items->all[node]);) {
        items->all[node] = item->next;
        qmpi_table_remove(&items->known, (uint64_t)node << 32 | item->number);
        free(item);
    }
}

static bool make_items(struct region_items *items)
{
    const struct trace_sums *sums = items->sums;
    bool good = true;
    for (size_t i = 0; good && i < sums->function_keys.count; i++) {
        const struct trace_sums_function *its = &sums->functions[i];
        good = !its->node || !its->sums.calls || add_item(items, its->node, its->function, its);
    }
    for (size_t i = 0; good && i < sums->callers.count; i++) {
        const uint32_t *caller = sums->callers.keys[i].data;
        const uint32_t number = (uint32_t)sums->process->function_count + caller[0];
        good = !caller[1] || add_item(items, caller[1], number, NULL);
    }
    return good;
}

static bool distribute_items(struct region_items *items)
{
    const struct trace_sums *sums = items->sums;
    bool good = true;
    for (size_t i = sums->nodes.count; good && i-- > 1;) {
        const struct trace_sums_region_set *node = sums->nodes.keys[i].data;
        if (!node->bit)
            continue;
        for (const struct item *item = items->all[i]; good && item; item = item->next)
            good = add_item(items, node->without, item->number, item->sums) &&
                   add_item(items, node->with, item->number, item->sums);
        free_items(items, (uint32_t)i);
    }
    return good;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *mine = *(struct item *const *)a, *its = *(struct item *const *)b;
    return (mine->number > its->number) - (mine->number < its->number);
}

/* Fills in the functions of a region, ordered by number. */
static bool fill_region_functions(const struct trace_sums *sums, struct profile_region *region,
                                  struct item *first, size_t count)
{
    struct item **sorted = calloc(count + 1, sizeof(struct item *));
    region->functions = calloc(count + 1, sizeof *region->functions);
    bool good = sorted && region->functions;
    size_t found = 0;
    for (struct item *item = first; good && item; item = item->next) {
        if (item->sums)
            sorted[found++] = item;
    }
    if (found)
        qsort(sorted, found, sizeof(struct item *), compare_items);
    for (size_t i = 0; good && i < found; i++) {
        sorted[i]->sums->function = sorted[i]->number;
        good = fill_function(sums, &region->functions[region->function_count++], sorted[i]->sums);
    }
    free(sorted);
    return good;
}

static bool fill_region(const struct trace_sums *sums, struct profile_region *region,
                        uint32_t number, struct item *first)
{
    const struct trace_sums_region *its = &sums->regions[number];
    const int rank = rank_of(sums);
    size_t functions = 0;
    int threads = 0;
    uint64_t in_mpi = 0;
    for (const struct item *item = first; item; item = item->next) {
        functions += item->sums != NULL;
        threads += !item->sums;
        in_mpi += item->sums ? item->sums->in_mpi : 0;
    }
    const double time = (double)its->time * seconds_per_tick(sums),
                 mpi = (double)in_mpi * seconds_per_tick(sums);
    const double rest = useful_time(threads ? threads : 1, time, mpi);
    region->name = strdup(sums->process->regions[number].name);
    region->entries = its->entries;
    region->time = trace_sums_spread(time, rank);
    region->mpi = trace_sums_spread(mpi, rank);
    region->useful = trace_sums_spread(rest, rank);
    region->nodes = calloc(1, sizeof *region->nodes);
    if (!region->nodes)
        return false;
    region->node_count = 1;
    *region->nodes = (struct profile_node){strdup(sums->process->host), rest};
    return region->name && region->nodes->host &&
           fill_region_functions(sums, region, first, functions);
}

static uint32_t *find_leaves(const struct trace_sums *sums)
{
    uint32_t *leaves = calloc(sums->process->region_count + 1, sizeof *leaves);
    for (size_t i = 1; leaves && i < sums->nodes.count; i++) {
        const struct trace_sums_region_set *node = sums->nodes.keys[i].data;
        if (!node->bit)
            leaves[node->prefix] = (uint32_t)i;
    }
    return leaves;
}

static bool fill_regions(const struct trace_sums *sums, struct profile_result *result)
{
    const size_t count = sums->process->region_count;
    struct region_items items = {.sums = sums,
                                 .all = calloc(sums->nodes.count + 1, sizeof(struct item *))};
    uint32_t *leaves = find_leaves(sums);
    qmpi_table_start(&items.known, sizeof(struct item *));
    result->regions = calloc(count + 1, sizeof *result->regions);
    bool good =
        items.all && leaves && result->regions && make_items(&items) && distribute_items(&items);
    for (uint32_t i = 0; good && i < count; i++) {
        if (sums->regions[i].entries)
            good = fill_region(sums, &result->regions[result->region_count++], i,
                               leaves[i] ? items.all[leaves[i]] : NULL);
    }
    for (size_t i = 0; items.all && i < sums->nodes.count; i++)
        free_items(&items, (uint32_t)i);
    qmpi_table_free(&items.known);
    free(items.all);
    free(leaves);
    return good;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

static bool fill_frames(const struct trace_process *process, const struct trace_site *site,
                        struct profile_callsite *callsite)
{
    callsite->frames = calloc(site->count + 1, sizeof *callsite->frames);
    for (size_t i = 0; callsite->frames && i < site->count; i++) {
        struct profile_frame *frame = &callsite->frames[callsite->frame_count++];
        const uint32_t library = site->frames[i].library;
        frame->offset = site->frames[i].offset;
        frame->module = strdup(library < process->library_count ? process->libraries[library] : "");
        if (!frame->module)
            return false;
    }
    return callsite->frames != NULL;
}

static int compare_waits(const void *a, const void *b)
{
    const struct profile_wait *mine = a, *its = b;
    return (mine->peer > its->peer) - (mine->peer < its->peer);
}

static bool fill_waits(const struct trace_sums *sums, const struct trace_sums_site *its,
                       struct profile_waits *waits)
{
    if (!its->wait_count)
        return true;
    waits->all = calloc(its->wait_count, sizeof *waits->all);
    if (!waits->all)
        return false;
    for (size_t i = 0; i < its->wait_count; i++) {
        if (its->waits[i].peer == rank_of(sums)) /* the process has sent the message to itself */
            continue;
        waits->all[waits->count++] =
            (struct profile_wait){rank_of(sums), its->waits[i].peer, its->waits[i].calls,
                                  (double)its->waits[i].time * seconds_per_tick(sums)};
    }
    qsort(waits->all, waits->count, sizeof *waits->all, compare_waits);
    return true;
}

static bool fill_callsites(const struct trace_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    result->callsites = calloc(sums->site_keys.count + 1, sizeof *result->callsites);
    bool good = result->callsites != NULL;
    for (size_t i = 0; good && i < sums->site_keys.count; i++) {
        const struct trace_sums_site *its = &sums->sites[i];
        if (its->site >= process->site_count || !its->sums.calls)
            continue;
        struct profile_callsite *callsite = &result->callsites[result->callsite_count++];
        callsite->name = strdup(process->functions[its->function].name);
        callsite->ranks = 1;
        callsite->messages = its->messages;
        trace_sums_fill(&callsite->calls, &its->sums, seconds_per_tick(sums), rank_of(sums));
        good = callsite->name && fill_frames(process, &process->sites[its->site], callsite) &&
               fill_waits(sums, its, &callsite->waits);
    }
    return good;
}

/* ---- Pairs of ranks, communicators and files ------------------------------------------------- */

static bool fill_matrix(const struct trace_sums *sums, struct profile_result *result)
{
    result->matrix = calloc(sums->pair_keys.count + 1, sizeof *result->matrix);
    for (size_t i = 0; result->matrix && i < sums->pair_keys.count; i++) {
        const int *pair = sums->pair_keys.keys[i].data;
        result->matrix[result->matrix_entry_count++] = (struct profile_matrix_entry){
            pair[0], pair[1], sums->pairs[i].messages, sums->pairs[i].bytes};
    }
    return result->matrix != NULL;
}

static void add_sums(struct trace_sums_calls *to, const struct trace_sums_calls *more)
{
    if (!more->calls)
        return;
    if (!to->calls || more->shortest < to->shortest)
        to->shortest = more->shortest;
    if (more->longest > to->longest)
        to->longest = more->longest;
    to->calls += more->calls;
    to->time += more->time;
    to->sent += more->sent;
    to->received += more->received;
}

/* Returns the hash of a member of a communicator, as in tools/profile/record/objects.c. Hashes are
 * added, so the sum does not depend on the order of the members. */
static uint64_t hash_member(int world)
{
    uint64_t word = (uint64_t)(unsigned)world + 1;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    return word ^ word >> 29;
}

static void hash_members(struct profile_communicator *comm, const int *group, int size)
{
    comm->size += size;
    for (int i = 0; group && i < size; i++) {
        const int world = group[i] < 0 ? -1 : group[i];
        comm->members += hash_member(world);
        if (world >= 0 && (comm->first < 0 || world < comm->first))
            comm->first = world;
    }
}

/* Returns the number that all communicators with the processes and the name of `like` share. The
 * first of them gets the next number. Returns TRACE_NO_NUMBER if memory is exhausted. */
static uint32_t number_communicator(struct trace_map *known,
                                    const struct profile_communicator *like)
{
    char *key;
    const int length = asprintf(&key, "%" PRIu64 " %d %s", like->members, like->size, like->name);
    if (length < 0)
        return TRACE_NO_NUMBER;
    const uint32_t number = trace_map_add(known, key, (size_t)length, NULL);
    free(key);
    return number;
}

static bool fill_communicators(const struct trace_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct trace_map known = {0};
    struct trace_sums_calls *all = calloc(process->comm_count + 1, sizeof *all);
    result->communicators = calloc(process->comm_count + 1, sizeof *result->communicators);
    bool good = all && result->communicators;
    for (size_t i = 0; good && i < process->comm_count; i++) {
        const struct trace_comm *its = &process->comms[i];
        if (!sums->comms[i].calls)
            continue;
        struct profile_communicator like = {.name = its->name, .first = -1};
        hash_members(&like, its->group, its->size);
        if (its->remote)
            hash_members(&like, its->remote, its->remote_size);
        const uint32_t number = number_communicator(&known, &like);
        good = number != TRACE_NO_NUMBER;
        if (!good)
            break;
        struct profile_communicator *comm = &result->communicators[number];
        result->communicator_count = known.count;
        const uint64_t instances = comm->instances;
        char *name = comm->name ? comm->name : strdup(its->name);
        *comm = like;
        comm->name = name;
        comm->instances = instances + 1;
        add_sums(&all[number], &sums->comms[i]);
        trace_sums_fill(&comm->calls, &all[number], seconds_per_tick(sums), rank_of(sums));
        good = name != NULL;
    }
    trace_map_clear(&known);
    free(all);
    return good;
}

static bool fill_files(const struct trace_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct trace_map known = {0};
    struct trace_sums_calls *all = calloc(process->file_count + 1, sizeof *all);
    result->files = calloc(process->file_count + 1, sizeof *result->files);
    bool good = all && result->files;
    for (size_t i = 0; good && i < process->file_count; i++) {
        const char *name = process->files[i].name;
        if (!sums->files[i].calls && !sums->opens[i])
            continue;
        bool is_new = false;
        const uint32_t number = trace_map_add(&known, name, strlen(name), &is_new);
        struct profile_file *file = number == TRACE_NO_NUMBER ? NULL : &result->files[number];
        if (file && is_new) {
            result->file_count++;
            file->name = strdup(name);
        }
        good = file && file->name;
        if (!good)
            break;
        add_sums(&all[number], &sums->files[i]);
        file->opens += sums->opens[i];
        file->read = all[number].received;
        file->written = all[number].sent;
        trace_sums_fill(&file->calls, &all[number], seconds_per_tick(sums), rank_of(sums));
    }
    trace_map_clear(&known);
    free(all);
    return good;
}

/* ---- Times and calls in progress ------------------------------------------------------------- */

static bool fill_process(const struct trace_sums *sums, struct profile_result *result)
{
    struct profile_process *process = calloc(1, sizeof *process);
    result->processes = process;
    if (!process)
        return false;
    result->process_count = 1;
    *process = (struct profile_process){
        .rank = rank_of(sums),
        .host = strdup(sums->process->host),
        .application = (double)sums->on_time * seconds_per_tick(sums),
        .mpi = time_in_mpi(sums),
        .memory = sums->process->memory,
    };
    process->useful = useful_time(count_threads(sums), process->application, process->mpi);
    result->application = trace_sums_spread(process->application, process->rank);
    result->time = trace_sums_spread(process->mpi, process->rank);
    return process->host != NULL;
}

static size_t count_windows(const struct trace_sums_windows *on)
{
    size_t count = PROFILE_WINDOWS_MOST;
    while (count && !on->times[count - 1])
        count--;
    return count;
}

static bool was_always_on(const struct trace_sums_windows *on, size_t count)
{
    size_t whole = 0;
    while (whole + 1 < count && on->times[whole] == on->width)
        whole++;
    return whole + 1 >= count;
}

static bool fill_windows(const struct trace_sums *sums, struct profile_result *result)
{
    const double tick = seconds_per_tick(sums);
    struct trace_sums_windows on = sums->on, mpi = sums->mpi;
    trace_sums_widen_windows(&on, mpi.doublings);
    trace_sums_widen_windows(&mpi, on.doublings);
    const int threads = count_threads(sums);
    struct profile_window_rank *rank = calloc(1, sizeof *rank);
    result->windows.ranks = rank;
    if (!rank)
        return false;
    result->windows.rank_count = 1;
    result->windows.width = ldexp(PROFILE_WINDOW_WIDTH, on.doublings);
    rank->rank = rank_of(sums);
    rank->count = count_windows(&on);
    rank->mpi = calloc(rank->count + 1, 1);
    if (!was_always_on(&on, rank->count)) {
        rank->profiled = calloc(rank->count + 1, 1);
        if (!rank->profiled)
            return false;
    }
    struct profile_windows_rounding rounding = {0, 0};
    for (size_t i = 0; rank->mpi && i < rank->count; i++) {
        const struct profile_window window = {(double)on.times[i] * tick,
                                              (double)mpi.times[i] * tick / threads};
        profile_window_set(&rounding, rank, (double)on.width * tick, i, window);
    }
    return rank->mpi != NULL;
}

/* Formats the time that is `more` nanoseconds after `start`, which is in nanoseconds since the
 * Epoch; with `fraction`, including milliseconds. Returns "" for a time that cannot be formatted,
 * and NULL if memory is exhausted. */
static char *format_time(int64_t start, double more, bool fraction)
{
    struct tm parts;
    char text[40], *whole;
    const double nanoseconds = (double)(start % 1000000000) + more,
                 seconds = (double)(start / 1000000000) + floor(nanoseconds * 1e-9);
    if (!(seconds > -1e11 && seconds < 1e11)) /* this occurs only in a damaged file */
        return strdup("");
    const time_t second = (time_t)seconds;
    if (!gmtime_r(&second, &parts))
        return strdup("");
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!fraction)
        return asprintf(&whole, "%sZ", text) < 0 ? NULL : whole;
    const int ms = (int)((nanoseconds * 1e-9 - floor(nanoseconds * 1e-9)) * 1000);
    return asprintf(&whole, "%s.%03dZ", text, ms) < 0 ? NULL : whole;
}

/* Adds the calls that were in progress when the process ended. */
static bool fill_flights(const struct trace_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < sums->location_count; i++)
        count += sums->locations[i].depth;
    result->flights = calloc(count + 1, sizeof *result->flights);
    for (size_t i = 0; result->flights && !sums->is_over && i < sums->location_count; i++) {
        const struct trace_sums_thread *location = &sums->locations[i];
        for (size_t k = 0; good && k < location->depth; k++) {
            const struct trace_sums_call *call = &location->all[k];
            struct profile_flight *flight = &result->flights[result->flight_count++];
            struct profile_callsite place = {0};
            const uint64_t end = process->end_ticks;
            const double since =
                ((double)call->begin - (double)process->start_ticks) * process->tick;
            good = call->site >= process->site_count ||
                   fill_frames(process, &process->sites[call->site], &place);
            flight->name = strdup(process->functions[call->function].name);
            flight->frames = place.frames;
            flight->frame_count = place.frame_count;
            flight->rank = rank_of(sums);
            flight->root = -1;
            flight->time =
                end > call->begin ? (double)(end - call->begin) * seconds_per_tick(sums) : 0;
            flight->since = format_time(process->started, since, true);
            good = good && flight->name && flight->since;
        }
    }
    return good && result->flights;
}

static char *find_termination(const struct trace_process *process)
{
    char *text;
    switch (process->end) {
    case TRACE_END_ABORT:
        return strdup("MPI_Abort");
    case TRACE_END_EXIT:
        return strdup("exit");
    case TRACE_END_SIGNAL:
        return asprintf(&text, "signal %s", process->end_detail ? process->end_detail : "") < 0
                   ? NULL
                   : text;
    default:
        return strdup("end of trace");
    }
}

static bool fill_head(const struct trace_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    result->tool_id = process->tool_id;
    result->ranks = 1;
    result->rank = rank_of(sums);
    result->program = strdup(process->program ? process->program : "");
    result->mpi = strdup(process->mpi ? process->mpi : "");
    result->begin = format_time(process->started, 0, false);
    result->unfinished_receives = sums->posted - sums->arrived;
    if (process->end != TRACE_END_FINALIZE && !sums->is_over) {
        result->termination = find_termination(process);
        if (!result->termination)
            return false;
    }
    return result->program && result->mpi && result->begin;
}

static struct profile_result *make_result(const struct trace_sums *sums)
{
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    if (fill_head(sums, result) && fill_functions(sums, result) && fill_regions(sums, result) &&
        fill_callsites(sums, result) && fill_matrix(sums, result) &&
        fill_communicators(sums, result) && fill_files(sums, result) &&
        fill_process(sums, result) && fill_windows(sums, result) && fill_flights(sums, result))
        return result;
    profile_result_free(result);
    return NULL;
}

/* ---- All processes --------------------------------------------------------------------------- */

static struct profile_result *read_process(const struct trace *trace, uint32_t process)
{
    struct trace_sums *sums = malloc(sizeof *sums);
    struct profile_result *result = NULL;
    if (sums && trace_sums_read(sums, trace, process))
        result = make_result(sums);
    if (sums)
        trace_sums_free(sums);
    free(sums);
    return result;
}

/* Merges two results, as the tool profile does in MPI_Finalize if both processes have reached it,
 * and otherwise like the files of single processes. */
static bool merge_results(struct profile_result *into, struct profile_result *from)
{
    return into->termination || from->termination ? profile_merge_process(into, from)
                                                  : profile_merge(into, from);
}

/* Adds a result to a tree, in which parts[i] is the merged result of 2^i processes. Takes ownership
 * of `result`. */
enum { PARTS = 32 };
static bool add_result(struct profile_result **parts, struct profile_result *result)
{
    int place = 0;
    for (; place < PARTS - 1 && parts[place]; place++) {
        struct profile_result *into = parts[place];
        parts[place] = NULL;
        if (!merge_results(into, result)) {
            profile_result_free(into);
            return false;
        }
        result = into;
    }
    parts[place] = result;
    return true;
}

static struct profile_result *merge_all_results(struct profile_result **parts, bool *good)
{
    struct profile_result *all = NULL;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i] && all)
            *good = merge_results(parts[i], all) && *good;
        all = parts[i] ? parts[i] : all;
    }
    return all;
}

struct profile_result *trace_profile_make(const struct trace *trace, bool with_path, char **problem)
{
    struct profile_result *parts[PARTS] = {NULL};
    struct trace_path *path = with_path ? trace_path_find(trace) : NULL;
    bool good = trace->process_count > 0 && (path || !with_path);
    *problem = NULL;
    for (uint32_t i = 0; good && i < trace->process_count; i++) {
        struct profile_result *result = read_process(trace, i);
        if (result && path)
            trace_path_fill(path, i, result);
        good = result && add_result(parts, result);
    }
    trace_path_free(path);
    struct profile_result *result = merge_all_results(parts, &good);
    /* The result of a single process keeps its rank if the run has several ranks or the process has
     * not reached MPI_Finalize, so that it can be merged with others, like the files of single
     * processes. */
    if (good && !result->termination && (trace->process_count > 1 || trace->processes->ranks <= 1))
        result->rank = -1;
    if (good)
        return result;
    if (result)
        profile_result_free(result);
    *problem = strdup(trace->process_count
                          ? "out of memory\nhint: read the file of a single process"
                          : "the trace has no process\nhint: name the directory of a trace");
    return NULL;
}

char *trace_profile_explain_path(const struct trace *trace)
{
    char *text = NULL;
    const int ranks = trace->process_count ? trace->processes[0].ranks : 0;
    const char *reason = NULL;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *it = &trace->processes[i];
        if (it->omits & TRACE_OMITS_MESSAGES)
            reason = "some functions that send or receive messages were not recorded";
        else if (it->omits & TRACE_OMITS_BEGINNING || it->is_ring)
            reason = "only a part of the run was recorded";
        else if (it->dropped)
            reason = "events were lost, because the memory of the tool trace was full";
    }
    if ((size_t)ranks > trace->process_count)
        return asprintf(&text, "the critical path contains only %zu of %d ranks",
                        trace->process_count, ranks) < 0
                   ? NULL
                   : text;
    return reason && asprintf(&text, "the critical path may be too short: %s", reason) >= 0 ? text
                                                                                            : NULL;
}
