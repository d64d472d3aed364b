/* SPDX-License-Identifier: MIT */
/* See process.h: the result of one process, as tools/profile/collect makes it. */
#define _GNU_SOURCE
#include "trace/profile/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(const struct process_sums *sums)
{
    return sums->process->tick * 1e-9;
}

static int rank_of(const struct process_sums *sums)
{
    return sums->process->rank >= 0 ? sums->process->rank : 0;
}

/* ---- Functions and regions ------------------------------------------------------------------- */

enum { EVERYWHERE = UINT32_MAX };

static bool is_in(const struct process_sums *sums, const struct function_sums *function,
                  uint32_t region)
{
    return region == EVERYWHERE || process_sums_holds(sums, function->node, region);
}

static void add_function(struct function_sums *to, const struct function_sums *more)
{
    struct sums *sums = &to->sums;
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
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        to->sizes[i] += more->sizes[i];
    for (int i = 0; i < PROFILE_TIME_BINS; i++)
        to->times[i] += more->times[i];
}

static bool fill_function(const struct process_sums *sums, struct profile_function *function,
                          const struct function_sums *its)
{
    const struct trace_function *described = &sums->process->functions[its->function];
    function->name = strdup(described->name);
    /* The name of one group is written otherwise there. */
    function->group = strdup(strcmp(described->group, "tool-information") ? described->group
                                                                          : "tool information");
    function->ranks = 1;
    sums_fill(&function->calls, &its->sums, seconds(sums), rank_of(sums));
    uint64_t without = its->sums.calls;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        without -= its->sizes[i];
    function->no_bytes = (int64_t)without < 0 ? 0 : without;
    memcpy(function->sizes, its->sizes, sizeof function->sizes);
    memcpy(function->times, its->times, sizeof function->times);
    return function->name && function->group;
}

static bool list_functions(const struct process_sums *sums, uint32_t region,
                           struct profile_function **functions, size_t *count)
{
    const size_t all = sums->process->function_count;
    struct function_sums *by_function = calloc(all + 1, sizeof *by_function);
    *functions = calloc(all + 1, sizeof **functions);
    bool good = by_function && *functions;
    for (size_t i = 0; good && i < sums->function_keys.count; i++) {
        const struct function_sums *its = &sums->functions[i];
        if (is_in(sums, its, region))
            add_function(&by_function[its->function], its);
    }
    for (size_t i = 0; good && i < all; i++) {
        by_function[i].function = (uint32_t)i;
        if (by_function[i].sums.calls)
            good = fill_function(sums, &(*functions)[(*count)++], &by_function[i]);
    }
    free(by_function);
    return good;
}

static double time_in_mpi(const struct process_sums *sums, uint32_t region)
{
    uint64_t time = 0;
    for (size_t i = 0; i < sums->function_keys.count; i++) {
        if (is_in(sums, &sums->functions[i], region))
            time += sums->functions[i].in_mpi;
    }
    return (double)time * seconds(sums);
}

static double useful(const struct process_sums *sums, uint32_t region, double time, double mpi)
{
    const double rest = time - mpi / process_sums_threads(sums, region);
    return rest > 0 ? rest : 0;
}

static bool fill_regions(const struct process_sums *sums, struct profile_result *result)
{
    const size_t count = sums->process->region_count;
    result->regions = calloc(count + 1, sizeof *result->regions);
    bool good = result->regions != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        const struct region_sums *its = &sums->regions[i];
        if (!its->entries)
            continue;
        struct profile_region *region = &result->regions[result->region_count++];
        const double time = (double)its->time * seconds(sums), mpi = time_in_mpi(sums, i);
        const double rest = useful(sums, i, time, mpi);
        region->name = strdup(sums->process->regions[i].name);
        region->entries = its->entries;
        region->time = sums_spread(time, rank_of(sums));
        region->mpi = sums_spread(mpi, rank_of(sums));
        region->useful = sums_spread(rest, rank_of(sums));
        region->nodes = calloc(1, sizeof *region->nodes);
        good = region->name && region->nodes &&
               list_functions(sums, i, &region->functions, &region->function_count);
        if (!region->nodes)
            break;
        region->node_count = 1;
        *region->nodes = (struct profile_node){strdup(sums->process->host), rest};
        good = good && region->nodes->host;
    }
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

static bool fill_waits(const struct process_sums *sums, const struct site_sums *its,
                       struct profile_waits *waits)
{
    if (!its->wait_count)
        return true;
    waits->all = calloc(its->wait_count, sizeof *waits->all);
    if (!waits->all)
        return false;
    for (size_t i = 0; i < its->wait_count; i++)
        waits->all[waits->count++] =
            (struct profile_wait){rank_of(sums), its->waits[i].peer, its->waits[i].calls,
                                  (double)its->waits[i].time * seconds(sums)};
    qsort(waits->all, waits->count, sizeof *waits->all, compare_waits);
    return true;
}

static bool fill_callsites(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    result->callsites = calloc(sums->site_keys.count + 1, sizeof *result->callsites);
    bool good = result->callsites != NULL;
    for (size_t i = 0; good && i < sums->site_keys.count; i++) {
        const struct site_sums *its = &sums->sites[i];
        if (its->site >= process->site_count || !its->sums.calls)
            continue;
        struct profile_callsite *callsite = &result->callsites[result->callsite_count++];
        callsite->name = strdup(process->functions[its->function].name);
        callsite->ranks = 1;
        callsite->messages = its->messages;
        sums_fill(&callsite->calls, &its->sums, seconds(sums), rank_of(sums));
        good = callsite->name && fill_frames(process, &process->sites[its->site], callsite) &&
               fill_waits(sums, its, &callsite->waits);
    }
    return good;
}

/* ---- Peers, communicators, files ------------------------------------------------------------- */

static bool fill_matrix(const struct process_sums *sums, struct profile_result *result)
{
    result->matrix = calloc(sums->pair_keys.count + 1, sizeof *result->matrix);
    for (size_t i = 0; result->matrix && i < sums->pair_keys.count; i++) {
        const int *pair = sums->pair_keys.keys[i].data;
        result->matrix[result->matrix_entry_count++] = (struct profile_matrix_entry){
            pair[0], pair[1], sums->pairs[i].messages, sums->pairs[i].bytes};
    }
    return result->matrix != NULL;
}

static void add_sums(struct sums *to, const struct sums *more)
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

/* As tools/profile/record/comms.c: the same for the same processes in any order. */
static uint64_t hash_member(int world)
{
    uint64_t word = (uint64_t)(unsigned)world + 1;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    return word ^ word >> 29;
}

static void add_members(struct profile_communicator *comm, const int *group, int size)
{
    comm->size += size;
    for (int i = 0; group && i < size; i++) {
        const int world = group[i] < 0 ? -1 : group[i];
        comm->members += hash_member(world);
        if (world >= 0 && (comm->first < 0 || world < comm->first))
            comm->first = world;
    }
}

/* A communicator of that name and those processes; the new one if there is none. */
static struct profile_communicator *find_communicator(struct profile_result *result,
                                                      const struct profile_communicator *like)
{
    size_t i = 0;
    while (i < result->communicator_count &&
           (result->communicators[i].members != like->members ||
            result->communicators[i].size != like->size ||
            strcmp(result->communicators[i].name, like->name) != 0))
        i++;
    if (i == result->communicator_count)
        result->communicator_count++;
    return &result->communicators[i];
}

static bool fill_communicators(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct sums *all = calloc(process->comm_count + 1, sizeof *all);
    result->communicators = calloc(process->comm_count + 1, sizeof *result->communicators);
    bool good = all && result->communicators;
    for (size_t i = 0; good && i < process->comm_count; i++) {
        const struct trace_comm *its = &process->comms[i];
        if (!sums->comms[i].calls)
            continue;
        struct profile_communicator like = {.name = its->name, .first = -1};
        add_members(&like, its->group, its->size);
        if (its->remote)
            add_members(&like, its->remote, its->remote_size);
        struct profile_communicator *comm = find_communicator(result, &like);
        const uint64_t instances = comm->instances;
        char *name = comm->name ? comm->name : strdup(its->name);
        const size_t number = (size_t)(comm - result->communicators);
        *comm = like;
        comm->name = name;
        comm->instances = instances + 1;
        add_sums(&all[number], &sums->comms[i]);
        sums_fill(&comm->calls, &all[number], seconds(sums), rank_of(sums));
        good = name != NULL;
    }
    free(all);
    return good;
}

static bool fill_files(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct sums *all = calloc(process->file_count + 1, sizeof *all);
    result->files = calloc(process->file_count + 1, sizeof *result->files);
    bool good = all && result->files;
    for (size_t i = 0; good && i < process->file_count; i++) {
        const char *name = process->files[i].name;
        if (!sums->files[i].calls && !sums->opens[i])
            continue;
        size_t k = 0;
        while (k < result->file_count && strcmp(result->files[k].name, name) != 0)
            k++;
        struct profile_file *file = &result->files[k];
        if (k == result->file_count) {
            result->file_count++;
            file->name = strdup(name);
            good = file->name != NULL;
            if (!good)
                break;
        }
        add_sums(&all[k], &sums->files[i]);
        file->opens += sums->opens[i];
        file->read = all[k].received;
        file->written = all[k].sent;
        sums_fill(&file->calls, &all[k], seconds(sums), rank_of(sums));
    }
    free(all);
    return good;
}

/* ---- The process ----------------------------------------------------------------------------- */

static bool fill_process(const struct process_sums *sums, struct profile_result *result)
{
    struct profile_process *process = calloc(1, sizeof *process);
    result->processes = process;
    if (!process)
        return false;
    result->process_count = 1;
    *process = (struct profile_process){
        .rank = rank_of(sums),
        .host = strdup(sums->process->host),
        .application = (double)sums->on_time * seconds(sums),
        .mpi = time_in_mpi(sums, EVERYWHERE),
        .memory = sums->process->memory,
    };
    process->useful = useful(sums, EVERYWHERE, process->application, process->mpi);
    result->application = sums_spread(process->application, process->rank);
    result->time = sums_spread(process->mpi, process->rank);
    return process->host != NULL;
}

static size_t count_windows(const struct time_windows *on)
{
    size_t count = PROFILE_WINDOWS_MOST;
    while (count && !on->times[count - 1])
        count--;
    return count;
}

static bool was_always_on(const struct time_windows *on, size_t count)
{
    size_t whole = 0;
    while (whole + 1 < count && on->times[whole] == on->width)
        whole++;
    return whole + 1 >= count;
}

static bool fill_windows(const struct process_sums *sums, struct profile_result *result)
{
    const double tick = seconds(sums);
    struct time_windows on = sums->on, mpi = sums->mpi;
    time_windows_widen(&on, mpi.doublings);
    time_windows_widen(&mpi, on.doublings);
    const int threads = process_sums_threads(sums, EVERYWHERE);
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

static char *format_time(int64_t nanoseconds, bool fraction)
{
    struct tm parts;
    char text[40], *whole;
    const time_t second = (time_t)(nanoseconds / 1000000000);
    if (!gmtime_r(&second, &parts))
        return strdup("");
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!fraction)
        return asprintf(&whole, "%sZ", text) < 0 ? NULL : whole;
    const int ms = (int)(nanoseconds / 1000000 % 1000);
    return asprintf(&whole, "%s.%03dZ", text, ms) < 0 ? NULL : whole;
}

/* Calls in progress when the process ended. */
static bool fill_flights(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < sums->location_count; i++)
        count += sums->locations[i].depth;
    result->flights = calloc(count + 1, sizeof *result->flights);
    for (size_t i = 0; result->flights && !sums->is_over && i < sums->location_count; i++) {
        const struct location_calls *location = &sums->locations[i];
        for (size_t k = 0; good && k < location->depth; k++) {
            const struct open_call *call = &location->all[k];
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
            flight->time = end > call->begin ? (double)(end - call->begin) * seconds(sums) : 0;
            flight->since = format_time(process->started + (int64_t)since, true);
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

static bool fill_head(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    result->tool_id = process->tool_id;
    result->ranks = 1;
    result->rank = rank_of(sums);
    result->program = strdup(process->program ? process->program : "");
    result->mpi = strdup(process->mpi ? process->mpi : "");
    result->begin = format_time(process->started, false);
    result->unfinished_receives = sums->posted - sums->arrived;
    if (process->end != TRACE_END_FINALIZE && !sums->is_over) {
        result->termination = find_termination(process);
        if (!result->termination)
            return false;
    }
    return result->program && result->mpi && result->begin;
}

struct profile_result *process_sums_result(const struct process_sums *sums)
{
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    if (fill_head(sums, result) &&
        list_functions(sums, EVERYWHERE, &result->functions, &result->function_count) &&
        fill_regions(sums, result) && fill_callsites(sums, result) && fill_matrix(sums, result) &&
        fill_communicators(sums, result) && fill_files(sums, result) &&
        fill_process(sums, result) && fill_windows(sums, result) && fill_flights(sums, result))
        return result;
    profile_result_free(result);
    return NULL;
}
