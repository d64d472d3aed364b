/* SPDX-License-Identifier: MIT */
/* See efficiency.h. */
#include "tools/profile/result/efficiency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of ranks of a node, and the sum of their times outside MPI; until combine_hosts, a
 * part of both. */
struct share {
    const char *host;
    int ranks;
    double useful;
};

static int compare_hosts(const void *a, const void *b)
{
    return strcmp(((const struct share *)a)->host, ((const struct share *)b)->host);
}

double profile_efficiency_off(const struct profile_result *result,
                              const struct profile_process *process)
{
    return fmax(fmin(process->off, result->application.max - process->application), 0);
}

/* Returns the time of a rank outside MPI. For the time while the rank was not profiled, the same
 * share outside MPI is assumed as for its profiled time, unless the latter is too short. */
static double find_useful(const struct profile_result *result,
                          const struct profile_process *process)
{
    const double elapsed = result->application.max, off = profile_efficiency_off(result, process);
    const double profiled = elapsed - off;
    const bool is_known = off > 0 && profiled > 0.01 * elapsed;
    return fmin(is_known ? process->useful * elapsed / profiled : process->useful, elapsed);
}

/* Combines the shares of each host. Returns the number of hosts. */
static int combine_hosts(struct share *shares, size_t count)
{
    size_t nodes = 0;
    if (count > 1)
        qsort(shares, count, sizeof *shares, compare_hosts);
    for (size_t i = 0; i < count; i++) {
        if (nodes && !compare_hosts(&shares[nodes - 1], &shares[i])) {
            shares[nodes - 1].ranks += shares[i].ranks;
            shares[nodes - 1].useful += shares[i].useful;
        } else {
            shares[nodes++] = shares[i];
        }
    }
    return (int)nodes;
}

/* Sets *nodes to the number of nodes, and *most to the mean time outside MPI of the node where this
 * mean is largest. Returns false if memory is exhausted. */
static bool find_node_means(const struct profile_result *result,
                            const struct profile_region *region, int *nodes, double *most)
{
    const size_t extra = region ? region->node_count : 0;
    struct share *shares = calloc(result->process_count + extra + 1, sizeof *shares);
    size_t count = 0;
    if (!shares)
        return false;
    for (; count < result->process_count; count++) {
        const struct profile_process *process = &result->processes[count];
        shares[count] = (struct share){process->host, 1, region ? 0 : find_useful(result, process)};
    }
    for (size_t i = 0; i < extra; i++)
        shares[count++] = (struct share){region->nodes[i].host, 0, region->nodes[i].useful};
    *nodes = combine_hosts(shares, count);
    *most = 0;
    for (int i = 0; i < *nodes; i++) {
        const double mean = shares[i].ranks ? shares[i].useful / shares[i].ranks : 0;
        *most = mean > *most ? mean : *most;
    }
    free(shares);
    return true;
}

static void find_rank_means(const struct profile_result *result,
                            struct profile_efficiency *efficiency)
{
    for (size_t i = 0; i < result->process_count; i++) {
        const double useful = find_useful(result, &result->processes[i]);
        efficiency->mean += useful / (double)result->process_count;
        if (useful > efficiency->most || !i) {
            efficiency->most = useful;
            efficiency->most_rank = result->processes[i].rank;
        }
    }
}

static double divide_or_one(double part, double whole)
{
    return whole > 0 ? part / whole : 1;
}

/* Returns the longest path to any rank, or 0 if the path to some rank is unknown. */
static double longest_path(const struct profile_result *result)
{
    double longest = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const double path = result->processes[i].path;
        if (!(path > 0))
            return 0;
        longest = path > longest ? path : longest;
    }
    return longest;
}

/* MPI_Init ends at different times on the ranks, so that the path may seem longer than the run. It
 * is limited to the elapsed time, and is at least as long as the work of any rank. */
static void set_path(double path, struct profile_efficiency *efficiency)
{
    efficiency->has_path = path > 0;
    efficiency->path = path;
    if (efficiency->path < efficiency->most)
        efficiency->path = efficiency->most;
    if (efficiency->path > efficiency->elapsed)
        efficiency->path = efficiency->elapsed;
    efficiency->serialisation = divide_or_one(efficiency->most, efficiency->path);
    efficiency->transfer = efficiency->path / efficiency->elapsed;
}

static double find_no_processor(const struct profile_result *result)
{
    double queued = 0;
    for (size_t i = 0; i < result->process_count; i++)
        queued += fmin(fmax(result->processes[i].queued, 0), result->processes[i].application);
    return queued / ((double)result->process_count * result->application.max);
}

bool profile_efficiency_find(const struct profile_result *result,
                             const struct profile_region *region,
                             struct profile_efficiency *efficiency)
{
    double node;
    *efficiency = (struct profile_efficiency){
        .elapsed = region ? region->time.max : result->application.max,
        .mean = region ? region->useful.mean : 0,
        .most = region ? region->useful.max : 0,
        .most_rank = -1,
    };
    if (!(efficiency->elapsed > 0) || !result->process_count || (region && !region->node_count) ||
        !find_node_means(result, region, &efficiency->nodes, &node))
        return false;
    if (!region)
        find_rank_means(result, efficiency);
    set_path(region ? region->path : longest_path(result), efficiency);
    efficiency->parallel = efficiency->mean / efficiency->elapsed;
    efficiency->communication = efficiency->most / efficiency->elapsed;
    efficiency->balance = divide_or_one(efficiency->mean, efficiency->most);
    efficiency->within_nodes = divide_or_one(node, efficiency->most);
    efficiency->between_nodes = divide_or_one(efficiency->mean, node);
    efficiency->no_processor = region ? 0 : find_no_processor(result);
    return true;
}

int profile_efficiency_list(const struct profile_efficiency *efficiency,
                            struct profile_efficiency_figure list[PROFILE_EFFICIENCY_FIGURES])
{
    const struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES] = {
        {"elapsed", efficiency->elapsed},
        {"parallel", efficiency->parallel},
        {"communication", efficiency->communication},
        {"load_balance", efficiency->balance},
        {"load_balance_within_nodes", efficiency->within_nodes},
        {"load_balance_between_nodes", efficiency->between_nodes},
        {"serialisation", efficiency->serialisation},
        {"transfer", efficiency->transfer},
        {"critical_path", efficiency->path},
    };
    memcpy(list, figures, sizeof figures);
    return efficiency->has_path ? PROFILE_EFFICIENCY_FIGURES : PROFILE_EFFICIENCY_FIGURES - 3;
}
