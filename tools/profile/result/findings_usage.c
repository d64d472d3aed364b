/* SPDX-License-Identifier: MIT */
/* See finder.h: how MPI is used for messages, files, requests and objects. */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Messages -------------------------------------------------------------------------------- */

static double wait_of_rank(const struct finder *finder, const struct profile_callsite *site,
                           int rank)
{
    double time = 0;
    for (size_t i = 0; i < site->waits.count; i++)
        time += site->waits.all[i].rank == rank ? site->waits.all[i].time : 0;
    return time / finder_threads(finder, rank);
}

/* Returns the mean number of calls over the ranks that made any. */
static double calls_of_rank(const struct profile_callsite *site)
{
    return (double)site->calls.calls / (site->ranks ? site->ranks : 1);
}

static void find_small_messages(struct finder *finder, const struct profile_callsite *site)
{
    enum { SMALL = 1024, MANY = 1000 };
    const struct profile_spread *time = &site->calls.time;
    if (!site->messages || !site->calls.sent)
        return;
    /* `messages` of a site counts those that it sends and those that it receives. */
    const double bytes =
        ((double)site->calls.sent + (double)site->calls.received) / (double)site->messages;
    const double messages = (double)site->calls.sent / bytes;
    if (messages < MANY || bytes > SMALL || !finder_is_in(finder, site->name, "point-to-point"))
        return;
    int rank;
    const double longest = finder_longest_rank(finder, site, &rank);
    const double seconds = longest - wait_of_rank(finder, site, rank);
    if (seconds < finder->least || seconds < 0.5 * longest)
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_SMALL_MESSAGES, seconds, rank, site);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d spends %s in small %s at \1", rank,
                     finder_amount(finder, seconds), site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "Together, the ranks send %.0f messages of %s on average here. Each call takes %s, "
             "most of which does not depend on the size.",
             messages, units_bytes(bytes), units_time(time->sum / (double)site->calls.calls));
    finding->advice = "Combine data for the same rank, and send it in fewer, larger messages.";
}

static void describe_small_collectives(const struct finder *finder, struct profile_finding *finding,
                                       const struct profile_rank_calls *longest)
{
    const double calls = (double)longest->calls;
    finder_summarize(finding, "Rank %d spends %s in small %s at \1", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(
        finding->meaning, sizeof finding->meaning,
        "It makes %llu calls here, which send %s and receive %s on average. Each takes %s, which "
        "does not depend on the size.",
        (unsigned long long)longest->calls, units_bytes((double)longest->sent / calls),
        units_bytes((double)longest->received / calls), units_time(finding->seconds / calls));
    finding->advice =
        "Combine several values in one call, or make the call less often, for example "
        "only in every tenth step. If the result is not needed at once, use the nonblocking "
        "form and compute until it completes.";
}

/* A barrier moves no data that could be combined. */
static void describe_barriers(const struct finder *finder, struct profile_finding *finding,
                              const struct profile_rank_calls *longest)
{
    finder_summarize(finding, "Rank %d spends %s in %s at \1", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "It makes %llu calls here, which move no data. Each takes %s even if no rank is late.",
             (unsigned long long)longest->calls,
             units_time(finding->seconds / (double)longest->calls));
    finding->advice = "Remove the barrier if the program is correct without it: messages and "
                      "collective calls already wait for their data. If it is needed, for example "
                      "for files or shared memory, call it less often.";
}

/* Small calls take some time in the library and in the network, even if no rank waits. Only this
 * time counts: ranks that take longer wait for others, and other rules report this waiting. */
static void find_small_collectives(struct finder *finder, const struct profile_callsite *site)
{
    enum { SMALL = 1024, MANY = 1000 };
    const unsigned started = QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT;
    const double bytes = (double)site->calls.sent + (double)site->calls.received;
    const QMPIX_Traits traits = finder_traits(site->name);
    struct finder_ranks ranks;
    if (traits.role != QMPIX_ROLE_COLLECTIVE || traits.flags & started ||
        calls_of_rank(site) < MANY || bytes > SMALL * (double)site->calls.calls)
        return;
    finder_ranks_of_site(finder, site, &ranks);
    if (!ranks.count)
        return;
    const struct profile_rank_calls *longest = &ranks.all[ranks.count - 1];
    const double data = (double)longest->sent + (double)longest->received;
    double seconds = fmin(longest->time, finder_explain(longest->calls, data));
    if (ranks.count > 1 && traits.flow == QMPIX_FLOW_ALL && ranks.all[0].calls == longest->calls)
        seconds = fmin(seconds, ranks.all[0].time);
    if (seconds < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_SMALL_COLLECTIVES, seconds, longest->rank, site);
    if (!finding)
        return;
    if (strcmp(site->name, "MPI_Barrier") != 0)
        describe_small_collectives(finder, finding, longest);
    else
        describe_barriers(finder, finding, longest);
}

static bool sends_messages(const struct finder *finder, const char *function)
{
    const struct profile_function *found = finder_function(finder, function);
    return found && !strcmp(found->group, "point-to-point") && found->calls.sent > 0;
}

/* Returns the rank that sends most bytes, and sets *share to its share of all bytes. */
static int find_busiest_sender(struct finder *finder, double *share)
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

/* Finds a rank that sends nearly everything, if there are at least three ranks. */
static void find_serial_sends(struct finder *finder)
{
    enum { FEWEST = 3 };
    double share;
    if (finder->result->ranks < FEWEST)
        return;
    const int rank = find_busiest_sender(finder, &share);
    struct finder_rank_sum all;
    struct finder_rank_sum *sums =
        share < 0.9 ? NULL : finder_sum_ranks(finder, sends_messages, &all);
    const double seconds = sums ? sums[rank].time : 0;
    free(sums);
    if (seconds < finder->least)
        return;
    struct profile_finding *finding = finder_add(finder, FINDING_SERIAL_SENDS, seconds, rank,
                                                 finder_find_site(finder, sends_messages));
    if (!finding || !finding->site)
        return;
    finder_summarize(finding, "Rank %d alone spends %s in %s at \1", rank,
                     finder_amount(finder, seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "It sends %.0f %% of the bytes of all messages. The time grows with the number of "
             "ranks.",
             100 * share);
    finding->advice = "Use a collective, such as MPI_Bcast or MPI_Scatterv, or let several ranks "
                      "distribute the data.";
}

void finder_rule_messages(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        find_small_messages(finder, &finder->result->callsites[i]);
        find_small_collectives(finder, &finder->result->callsites[i]);
    }
    find_serial_sends(finder);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool accesses_files(const struct finder *finder, const char *function)
{
    const QMPIX_Traits traits = finder_traits(function);
    (void)finder;
    return traits.access == QMPIX_ACCESS_READ || traits.access == QMPIX_ACCESS_WRITE;
}

static void find_small_accesses(struct finder *finder, const struct profile_callsite *site)
{
    enum { SMALL = 64 * 1024, MANY = 100 };
    const double bytes = (double)site->calls.sent + (double)site->calls.received;
    int rank;
    const double seconds = finder_longest_rank(finder, site, &rank);
    if (!accesses_files(finder, site->name) || calls_of_rank(site) < MANY ||
        bytes > SMALL * (double)site->calls.calls || seconds < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_SMALL_FILE_ACCESSES, seconds, rank, site);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d spends %s in small %s at \1", rank,
                     finder_amount(finder, seconds), site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "%llu accesses to files transfer %s each on average.",
             (unsigned long long)site->calls.calls, units_bytes(bytes / (double)site->calls.calls));
    finding->advice = "Read and write larger blocks, or use collective functions, such as "
                      "MPI_File_write_all, which combine the accesses of all ranks.";
}

static void find_serial_io(struct finder *finder)
{
    const int ranks = finder_count_ranks(finder->result);
    struct finder_rank_sum all = {0, 0, 0};
    struct finder_rank_sum *sums =
        finder->result->ranks < 2 ? NULL : finder_sum_ranks(finder, accesses_files, &all);
    double seconds = 0, share = 0;
    int most = 0;
    for (int i = 0; sums && i < ranks; i++)
        most = sums[i].bytes > sums[most].bytes ? i : most;
    if (sums && all.bytes > 0) {
        seconds = sums[most].time;
        share = sums[most].bytes / all.bytes;
    }
    free(sums);
    if (seconds < finder->least || share < 0.9)
        return;
    struct profile_finding *finding = finder_add(finder, FINDING_SERIAL_IO, seconds, most,
                                                 finder_find_site(finder, accesses_files));
    if (!finding || !finding->site)
        return;
    finder_summarize(finding, "Rank %d alone spends %s in %s at \1", most,
                     finder_amount(finder, seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "It transfers %.0f %% of the %s that all ranks read and write.", 100 * share,
             units_bytes(all.bytes));
    finding->advice = "Let all ranks read and write their part with collective functions, such as "
                      "MPI_File_write_at_all.";
}

void finder_rule_files(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++)
        find_small_accesses(finder, &finder->result->callsites[i]);
    find_serial_io(finder);
}

/* ---- Polling --------------------------------------------------------------------------------- */

/* Returns the polling time of the rank that spends most time in the calls. The polling time is
 * known only as a sum over all ranks, and is divided in proportion to the time in the calls. */
static double polling_of_rank(const struct finder *finder, const struct profile_calls *calls)
{
    const double threads = finder_threads(finder, calls->time.max_rank);
    return calls->time.sum > 0 ? calls->polling * calls->time.max / calls->time.sum / threads : 0;
}

void finder_rule_polling(struct finder *finder)
{
    enum { MANY = 100 };
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const double seconds = polling_of_rank(finder, &site->calls);
        const int rank = site->calls.time.max_rank;
        if (site->calls.calls < MANY || seconds < finder->least)
            continue;
        struct profile_finding *finding = finder_add(finder, FINDING_POLLING, seconds, rank, site);
        if (!finding)
            continue;
        finder_summarize(finding, "Rank %d polls for %s with %s at \1", rank,
                         finder_amount(finder, seconds), site->name);
        snprintf(finding->meaning, sizeof finding->meaning,
                 "%llu calls test whether a message has arrived or an operation has completed. "
                 "The time between two calls is included if they follow each other immediately, or "
                 "if the rank sleeps between them.",
                 (unsigned long long)site->calls.calls);
        finding->advice = "Call a blocking function if there is nothing else to do, or compute for "
                          "longer between two calls.";
    }
}

/* ---- Objects --------------------------------------------------------------------------------- */

void finder_rule_objects(struct finder *finder)
{
    enum { MANY = 100 };
    const int ranks = finder_count_ranks(finder->result);
    struct finder_rank_sum most = {0, 0, 0}, all;
    struct finder_rank_sum *sums = finder_sum_ranks(finder, finder_makes_objects, &all);
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
    struct profile_finding *finding = finder_add(finder, FINDING_TEMPORARY_OBJECTS, most.time, rank,
                                                 finder_find_site(finder, finder_makes_objects));
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
