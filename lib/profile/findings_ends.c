/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: how the run starts and ends, and on which nodes. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <string.h>

/* ---- The ends of the run --------------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void look_at_start(struct finder *finder, const char *name)
{
    const struct profile_function *function = finder_function(finder, name);
    const double least_start = 1;
    if (!function)
        return;
    const struct profile_spread *time = &function->calls.time;
    const double part = finder->init_part * (finder->elapsed + time->max);
    if (time->max < larger(part, least_start))
        return;
    struct profile_finding *finding =
        finder_add(finder, "startup", time->max, time->max_rank, finder_longest(finder, name));
    if (!finding)
        return;
    finding->share = time->max / (finder->elapsed + time->max);
    finder_summarize(finding, "Rank %d spends %s (%.0f %%) \2in %s \3at \1", time->max_rank,
                     units_time(time->max), 100 * finding->share, name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "MPI takes a long time to start: %s on average over the ranks, at least %s.",
             units_time(time->mean), units_time(time->min));
    finding->advice = "If the ranks differ, processes are started late or load from a slow file "
                      "system. If not, ask for fewer processes, or see the launcher's options.";
}

static void look_at_finish(struct finder *finder)
{
    const struct profile_spread *time = &finder->result->application;
    const double wait = time->max - time->min, least_finish = 1;
    if (finder->result->ranks < 2 || finder->result->termination ||
        wait < larger(finder->init_part * finder->elapsed, least_finish))
        return;
    struct profile_finding *finding = finder_add(finder, "shutdown", wait, time->max_rank,
                                                 finder_longest(finder, "MPI_Finalize"));
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d reaches MPI_Finalize at \1 %s late", time->max_rank,
                     finder_amount(finder, wait));
    snprintf(finding->meaning, sizeof finding->meaning,
             "Rank %d reaches it first, and waits there until the last rank does.", time->min_rank);
    finding->advice = "Distribute the work at the end of the run more evenly.";
}

void findings_ends(struct finder *finder)
{
    look_at_start(finder, "MPI_Init");
    look_at_start(finder, "MPI_Init_thread");
    look_at_finish(finder);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The least and the most that a rank of a node works, or of the other nodes. */
static void find_work(const struct profile_result *result, const char *host, bool others,
                      double *least, double *most, int *ranks)
{
    *ranks = 0;
    *least = *most = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        if ((strcmp(it->host, host) != 0) != others)
            continue;
        *least = !*ranks || it->useful < *least ? it->useful : *least;
        *most = !*ranks || it->useful > *most ? it->useful : *most;
        ++*ranks;
    }
}

/* All ranks of a node, at least two, compute longer than any rank of another node. */
void findings_nodes(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    const struct profile_process *slow = NULL;
    for (size_t i = 0; i < result->process_count; i++) {
        if (!slow || result->processes[i].useful > slow->useful)
            slow = &result->processes[i];
    }
    double least, most, others_least, others_most;
    int ranks, others;
    if (!slow)
        return;
    find_work(result, slow->host, false, &least, &most, &ranks);
    find_work(result, slow->host, true, &others_least, &others_most, &others);
    if (ranks < 2 || !others || least - others_most < finder->least ||
        most - least > 0.5 * (least - others_most))
        return;
    struct profile_finding *finding =
        finder_add(finder, "slow-node", least - others_most, slow->rank, NULL);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d computes %s longer than ranks of other nodes", slow->rank,
                     finder_amount(finder, finding->seconds));
    snprintf(finding->meaning, sizeof finding->meaning,
             "So do all %d ranks of its node, %.100s: the node is slow, or has more work.", ranks,
             slow->host);
    finding->advice = "Compare the clock rate, the load and the memory of this node with those of "
                      "the others, and run without it; or give its ranks less work.";
}
