/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: messages that are too small, or sent by one rank. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double wait_of_rank(const struct profile_callsite *site, int rank)
{
    double time = 0;
    for (size_t i = 0; i < site->waits.count; i++)
        time += site->waits.all[i].rank == rank ? site->waits.all[i].time : 0;
    return time;
}

static void look_for_small(struct finder *finder, const struct profile_callsite *site)
{
    enum { SMALL = 1024, MANY = 1000 };
    const struct profile_spread *time = &site->calls.time;
    if (site->messages < MANY || !site->calls.sent ||
        (double)site->calls.sent > (double)SMALL * (double)site->messages ||
        !finder_is_in(finder, site->name, "point-to-point"))
        return;
    const double seconds = time->max - wait_of_rank(site, time->max_rank);
    if (seconds < finder->least || seconds < 0.5 * time->max)
        return;
    struct profile_finding *finding =
        finder_add(finder, "small-messages", seconds, time->max_rank, site);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d spends %s \2in small %s \3at \1", time->max_rank,
                     finder_amount(finder, seconds), site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "%llu messages of %s on average are sent here. Each takes %s, most of which does not "
             "depend on its size.",
             (unsigned long long)site->messages,
             units_bytes((double)site->calls.sent / (double)site->messages),
             units_time(time->sum / (double)site->calls.calls));
    finding->advice = "Combine data for the same rank, and send it in fewer, larger messages.";
}

static bool sends_messages(const struct finder *finder, const char *function)
{
    const struct profile_function *found = finder_function(finder, function);
    return found && !strcmp(found->group, "point-to-point") && found->calls.sent > 0;
}

/* The rank that sends most bytes, and its share of all. */
static int find_sender(struct finder *finder, double *share)
{
    const struct profile_result *result = finder->result;
    const int ranks = finder_count_ranks(result);
    double *bytes = calloc((size_t)ranks, sizeof *bytes), total = 0;
    int most = 0;
    finder->good = finder->good && bytes;
    for (size_t i = 0; bytes && i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *it = &result->matrix[i];
        if (it->from < 0 || it->from >= ranks)
            continue;
        bytes[it->from] += (double)it->bytes;
        total += (double)it->bytes;
        most = bytes[it->from] > bytes[most] ? it->from : most;
    }
    *share = bytes && total > 0 ? bytes[most] / total : 0;
    free(bytes);
    return most;
}

/* One of at least three ranks sends nearly everything. */
static void look_for_sender(struct finder *finder)
{
    enum { FEWEST = 3 };
    double share;
    if (finder->result->ranks < FEWEST)
        return;
    const int rank = find_sender(finder, &share);
    struct rank_sum *sums = share < 0.9 ? NULL : finder_sum_ranks(finder, sends_messages);
    const double seconds = sums ? sums[rank].time : 0;
    free(sums);
    if (seconds < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, "serial-sends", seconds, rank, finder_find_site(finder, sends_messages));
    if (!finding || !finding->site)
        return;
    finder_summarize(finding, "Rank %d alone spends %s \2in %s \3at \1", rank,
                     finder_amount(finder, seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "It sends %.0f %% of the bytes of all messages. The time grows with the number of "
             "ranks.",
             100 * share);
    finding->advice = "Use a collective, such as MPI_Bcast or MPI_Scatterv, or let several ranks "
                      "distribute the data.";
}

void findings_messages(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++)
        look_for_small(finder, &finder->result->callsites[i]);
    look_for_sender(finder);
}
