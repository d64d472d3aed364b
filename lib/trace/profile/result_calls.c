/* SPDX-License-Identifier: MIT */
/* See result_parts.h: functions, regions and call sites. */
#define _GNU_SOURCE
#include "trace/profile/result_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- Functions and regions ------------------------------------------------------------------- */

static bool is_in(const struct process_sums *sums, const struct function_sums *function,
                  uint32_t region)
{
    return region == RESULT_EVERYWHERE || process_sums_holds(sums, function->node, region);
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
    sums_fill(&function->calls, &its->sums, result_tick(sums), result_rank(sums));
    uint64_t without = its->sums.calls;
    for (int i = 0; i < PROFILE_SIZE_BINS; i++)
        without -= its->sizes[i];
    function->no_bytes = (int64_t)without < 0 ? 0 : without;
    memcpy(function->sizes, its->sizes, sizeof function->sizes);
    memcpy(function->times, its->times, sizeof function->times);
    return function->name && function->group;
}

bool result_list_functions(const struct process_sums *sums, uint32_t region,
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

double result_time_in_mpi(const struct process_sums *sums, uint32_t region)
{
    uint64_t time = 0;
    for (size_t i = 0; i < sums->function_keys.count; i++) {
        if (is_in(sums, &sums->functions[i], region))
            time += sums->functions[i].in_mpi;
    }
    return (double)time * result_tick(sums);
}

double result_useful(const struct process_sums *sums, uint32_t region, double time, double mpi)
{
    const double rest = time - mpi / process_sums_threads(sums, region);
    return rest > 0 ? rest : 0;
}

bool result_fill_regions(const struct process_sums *sums, struct profile_result *result)
{
    const size_t count = sums->process->region_count;
    result->regions = calloc(count + 1, sizeof *result->regions);
    bool good = result->regions != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        const struct region_sums *its = &sums->regions[i];
        if (!its->entries)
            continue;
        struct profile_region *region = &result->regions[result->region_count++];
        const double time = (double)its->time * result_tick(sums),
                     mpi = result_time_in_mpi(sums, i);
        const double rest = result_useful(sums, i, time, mpi);
        region->name = strdup(sums->process->regions[i].name);
        region->entries = its->entries;
        region->time = sums_spread(time, result_rank(sums));
        region->mpi = sums_spread(mpi, result_rank(sums));
        region->useful = sums_spread(rest, result_rank(sums));
        region->nodes = calloc(1, sizeof *region->nodes);
        good = region->name && region->nodes &&
               result_list_functions(sums, i, &region->functions, &region->function_count);
        if (!region->nodes)
            break;
        region->node_count = 1;
        *region->nodes = (struct profile_node){strdup(sums->process->host), rest};
        good = good && region->nodes->host;
    }
    return good;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

bool result_fill_frames(const struct trace_process *process, const struct trace_site *site,
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
            (struct profile_wait){result_rank(sums), its->waits[i].peer, its->waits[i].calls,
                                  (double)its->waits[i].time * result_tick(sums)};
    qsort(waits->all, waits->count, sizeof *waits->all, compare_waits);
    return true;
}

bool result_fill_callsites(const struct process_sums *sums, struct profile_result *result)
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
        sums_fill(&callsite->calls, &its->sums, result_tick(sums), result_rank(sums));
        good = callsite->name &&
               result_fill_frames(process, &process->sites[its->site], callsite) &&
               fill_waits(sums, its, &callsite->waits);
    }
    return good;
}
