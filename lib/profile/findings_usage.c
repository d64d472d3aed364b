/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: how MPI is used for files, requests and objects. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calls of a site that its busiest rank made, if all ranks made as many. */
static double calls_of_rank(const struct profile_callsite *site)
{
    return (double)site->calls.calls / (site->ranks ? site->ranks : 1);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool accesses_files(const struct finder *finder, const char *function)
{
    static const char *const words[] = {"_read", "_write", "_iread", "_iwrite", NULL};
    return finder_is_in(finder, function, "I/O") && finder_contains(function, words);
}

static void look_for_small_accesses(struct finder *finder, const struct profile_callsite *site)
{
    enum { SMALL = 64 * 1024, MANY = 100 };
    const struct profile_spread *time = &site->calls.time;
    const double bytes = (double)site->calls.sent + (double)site->calls.received;
    if (!accesses_files(finder, site->name) || calls_of_rank(site) < MANY ||
        bytes > SMALL * (double)site->calls.calls || time->max < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, "small-file-accesses", time->max, time->max_rank, site);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d spends %s \2in small %s \3at \1", time->max_rank,
                     finder_amount(finder, time->max), site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "%llu accesses to files transfer %s each on average.",
             (unsigned long long)site->calls.calls, units_bytes(bytes / (double)site->calls.calls));
    finding->advice = "Read and write larger blocks, or use collective functions, such as "
                      "MPI_File_write_all, which combine the accesses of all ranks.";
}

static void look_for_writer(struct finder *finder)
{
    const int ranks = finder_count_ranks(finder->result);
    struct rank_sum *sums =
        finder->result->ranks < 2 ? NULL : finder_sum_ranks(finder, accesses_files);
    double bytes = 0, seconds = 0, share = 0;
    int most = 0;
    for (int i = 0; sums && i < ranks; i++) {
        bytes += sums[i].bytes;
        most = sums[i].bytes > sums[most].bytes ? i : most;
    }
    if (sums && bytes > 0) {
        seconds = sums[most].time;
        share = sums[most].bytes / bytes;
    }
    free(sums);
    if (seconds < finder->least || share < 0.9)
        return;
    struct profile_finding *finding =
        finder_add(finder, "serial-io", seconds, most, finder_find_site(finder, accesses_files));
    if (!finding || !finding->site)
        return;
    finder_summarize(finding, "Rank %d alone spends %s \2in %s \3at \1", most,
                     finder_amount(finder, seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "It transfers %.0f %% of the %s that all ranks read and write.", 100 * share,
             units_bytes(bytes));
    finding->advice = "Let all ranks read and write their part with collective functions, such as "
                      "MPI_File_write_at_all.";
}

void findings_files(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++)
        look_for_small_accesses(finder, &finder->result->callsites[i]);
    look_for_writer(finder);
}

/* ---- Polling --------------------------------------------------------------------------------- */

/* What a rank loses is known of all ranks together. */
static double polling_of_rank(const struct profile_calls *calls)
{
    return calls->time.sum > 0 ? calls->polling * calls->time.max / calls->time.sum : 0;
}

void findings_polling(struct finder *finder)
{
    enum { MANY = 1000 };
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const double seconds = polling_of_rank(&site->calls);
        const int rank = site->calls.time.max_rank;
        if (site->calls.calls < MANY || seconds < finder->least)
            continue;
        struct profile_finding *finding = finder_add(finder, "polling", seconds, rank, site);
        if (!finding)
            continue;
        finder_summarize(finding, "Rank %d polls for %s \2with %s \3at \1", rank,
                         finder_amount(finder, seconds), site->name);
        snprintf(finding->meaning, sizeof finding->meaning,
                 "%llu calls test whether a message has arrived or an operation has completed. "
                 "The time between two calls in immediate succession is included.",
                 (unsigned long long)site->calls.calls);
        finding->advice = "Call a blocking function if there is nothing else to do, or compute for "
                          "longer between two calls.";
    }
}

/* ---- Objects --------------------------------------------------------------------------------- */

static bool makes_objects(const struct finder *finder, const char *function)
{
    static const char *const questions[] = {"_get",    "_size",   "_rank",   "_compare", "_set",
                                            "_test",   "_extent", "_coords", "_shift",   "_count",
                                            "_delete", "ack",     NULL};
    return (finder_is_in(finder, function, "datatype") ||
            finder_is_in(finder, function, "communicator") ||
            finder_is_in(finder, function, "group") || finder_is_in(finder, function, "topology") ||
            finder_is_in(finder, function, "info")) &&
           !finder_contains(function, questions);
}

void findings_objects(struct finder *finder)
{
    enum { MANY = 100 };
    const int ranks = finder_count_ranks(finder->result);
    struct rank_sum *sums = finder_sum_ranks(finder, makes_objects);
    struct rank_sum most = {0, 0, 0};
    int rank = 0;
    for (int i = 0; sums && i < ranks; i++) {
        if (sums[i].time > most.time) {
            most = sums[i];
            rank = i;
        }
    }
    free(sums);
    if (most.calls < MANY || most.time < finder->least)
        return;
    struct profile_finding *finding = finder_add(finder, "temporary-objects", most.time, rank,
                                                 finder_find_site(finder, makes_objects));
    if (!finding || !finding->site)
        return;
    finder_summarize(finding, "Rank %d creates and frees objects for %s at \1", rank,
                     finder_amount(finder, most.time));
    snprintf(finding->meaning, sizeof finding->meaning,
             "It creates and frees datatypes, communicators, groups or infos in %llu calls; %s at "
             "this place takes most of the time.",
             (unsigned long long)most.calls, finding->site->name);
    finding->advice = "Create such objects once, before the loop, and reuse them.";
}
