/* SPDX-License-Identifier: MIT */
/* See efficiency.h. */
#include "profile/efficiency.h"

#include <stdlib.h>
#include <string.h>

/* Ranks on a node, and the sum of their times outside MPI. */
struct share {
    const char *host;
    int ranks;
    double useful;
};

static int compare_hosts(const void *a, const void *b)
{
    return strcmp(((const struct share *)a)->host, ((const struct share *)b)->host);
}

/* Shares of one host become one. Returns how many remain. */
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

/* The mean over the ranks of the node where it is largest. False: memory is exhausted. */
static bool find_nodes(const struct profile_result *result, const struct profile_region *region,
                       int *nodes, double *most)
{
    const size_t extra = region ? region->node_count : 0;
    struct share *shares = calloc(result->process_count + extra + 1, sizeof *shares);
    size_t count = 0;
    if (!shares)
        return false;
    for (; count < result->process_count; count++) {
        const struct profile_process *process = &result->processes[count];
        shares[count] = (struct share){process->host, 1, region ? 0 : process->useful};
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

static void find_ranks(const struct profile_result *result, struct profile_efficiency *efficiency)
{
    for (size_t i = 0; i < result->process_count; i++) {
        const double useful = result->processes[i].useful;
        efficiency->mean += useful / (double)result->process_count;
        if (useful > efficiency->most || !i) {
            efficiency->most = useful;
            efficiency->most_rank = result->processes[i].rank;
        }
    }
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 1;
}

/* It is known if it is known of every rank. */
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

/* Elapsed times of ranks differ by when MPI_Init ends: no chain of work is longer than the run. */
static void find_path(double path, struct profile_efficiency *efficiency)
{
    efficiency->has_path = path > 0;
    efficiency->path = path;
    if (efficiency->path < efficiency->most)
        efficiency->path = efficiency->most;
    if (efficiency->path > efficiency->elapsed)
        efficiency->path = efficiency->elapsed;
    efficiency->serialisation = ratio(efficiency->most, efficiency->path);
    efficiency->transfer = efficiency->path / efficiency->elapsed;
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
        !find_nodes(result, region, &efficiency->nodes, &node))
        return false;
    if (!region)
        find_ranks(result, efficiency);
    find_path(region ? region->path : longest_path(result), efficiency);
    efficiency->parallel = efficiency->mean / efficiency->elapsed;
    efficiency->communication = efficiency->most / efficiency->elapsed;
    efficiency->balance = ratio(efficiency->mean, efficiency->most);
    efficiency->within_nodes = ratio(node, efficiency->most);
    efficiency->between_nodes = ratio(efficiency->mean, node);
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
