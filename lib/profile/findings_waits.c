/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: ranks that wait for a peer in point-to-point calls. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <string.h>

/* Those of one rank at a call site, which are next to each other. */
struct rank_waits {
    int rank;
    double time;
    const struct profile_wait *first;
    size_t count;
};

static struct rank_waits take_rank(const struct profile_waits *waits, size_t at)
{
    struct rank_waits taken = {waits->all[at].rank, 0, &waits->all[at], 0};
    for (; at < waits->count && waits->all[at].rank == taken.rank; at++) {
        taken.time += waits->all[at].time;
        taken.count++;
    }
    return taken;
}

/* The peer that is waited for longest; of several, which a call completes together, the one that
 * works most. */
static int find_peer(const struct finder *finder, const struct rank_waits *waits)
{
    double most = 0, useful = -1;
    int peer = -1;
    for (size_t i = 0; i < waits->count; i++)
        most = waits->first[i].time > most ? waits->first[i].time : most;
    for (size_t i = 0; i < waits->count; i++) {
        const struct profile_wait *wait = &waits->first[i];
        const double its_useful = wait->peer < 0 ? 0 : finder_useful(finder, wait->peer);
        if (wait->time >= 0.8 * most && its_useful > useful) {
            peer = wait->peer;
            useful = its_useful;
        }
    }
    return peer;
}

static bool sends(const char *function)
{
    return strstr(function, "end") && !strstr(function, "recv");
}

/* A call that completes requests may have waited for what it receives, or for what it sends. */
static bool receives_from(const struct finder *finder, int rank, int peer)
{
    const struct profile_result *result = finder->result;
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        if (result->matrix[i].from == peer && result->matrix[i].to == rank)
            return true;
    }
    return false;
}

static bool is_message(const char *function)
{
    return strstr(function, "recv") || strstr(function, "Recv") || strstr(function, "end") ||
           strstr(function, "robe");
}

/* To give a peer less work does not help where it is in MPI itself while it is waited for. */
static bool is_in_mpi(const struct finder *finder, const struct profile_finding *finding)
{
    return finder_useful(finder, finding->peer) < 0.5 * finding->seconds;
}

static const char *const advice_in_mpi =
    "The peer is in MPI itself for most of this time: check which rank it waits for. If the two "
    "ranks wait for each other, send fewer and larger messages, and check that the ranks share "
    "no processor with each other or with other programs.";

static void summarize(const struct finder *finder, struct profile_finding *finding)
{
    finder_summarize(finding, "Rank %d waits %s \2in %s \3at \1 for rank %d", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name, finding->peer);
}

/* What to try where the call completes requests, and where it is the message's own. */
static void advise(const struct finder *finder, struct profile_finding *finding,
                   const char *completion, const char *message)
{
    if (is_in_mpi(finder, finding))
        finding->advice = advice_in_mpi;
    else
        finding->advice = is_message(finding->site->name) ? message : completion;
}

static void describe_sender(const struct finder *finder, struct profile_finding *finding)
{
    summarize(finder, finding);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The receiver is ready before the sender. Rank %d spends %s of the run outside MPI.",
             finding->peer, finder_amount(finder, finder_useful(finder, finding->peer)));
    advise(finder, finding,
           "Let the sender send earlier, or give it less work; or compute for longer between "
           "MPI_Irecv and this call.",
           "Let the sender send earlier, or give it less work; or post the receive with MPI_Irecv "
           "and compute until the message has arrived.");
}

/* Small messages are copied, and do not wait for their receiver. */
static bool is_small(const struct profile_callsite *site)
{
    enum { SMALL = 1024 };
    return !strstr(site->name, "send") && site->messages &&
           (double)site->calls.sent <= SMALL * (double)site->messages;
}

static void describe_receiver(const struct finder *finder, struct profile_finding *finding)
{
    const struct profile_callsite *site = finding->site;
    const bool small = is_message(site->name) && is_small(site);
    const char *reason = small ? "many small messages are pending, and it receives them slowly"
                               : "a large or synchronous message is not sent before its receive "
                                 "is posted";
    summarize(finder, finding);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The sender is ready before the receiver: %s. Rank %d spends %s of the run outside "
             "MPI.",
             reason, finding->peer, finder_amount(finder, finder_useful(finder, finding->peer)));
    advise(finder, finding,
           "Let the receiver post its receive earlier, for example with MPI_Irecv; or compute for "
           "longer between the send and this call.",
           "Let the receiver post its receive earlier, for example with MPI_Irecv, or send with "
           "MPI_Isend and compute until the send completes.");
}

static void describe_requests(const struct finder *finder, struct profile_finding *finding)
{
    finding->advice = "Check which operations this call completes. If they are sends, post their "
                      "receives earlier; otherwise, compute for longer before the call.";
    finder_summarize(finding, "Rank %d waits %s \2in %s \3at \1", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The profile does not know for which rank: the completed operations may be sends that "
             "wait for their receivers, or nonblocking collectives that wait for other ranks.");
}

static void add_others(const struct profile_waits *waits, struct profile_finding *finding)
{
    const size_t length = strlen(finding->meaning);
    double time = 0;
    int others = 0;
    for (size_t i = 0; i < waits->count;) {
        const struct rank_waits its = take_rank(waits, i);
        others += its.rank != finding->rank && its.time >= 0.1 * finding->seconds;
        time += its.time;
        i += its.count;
    }
    if (others)
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " %d other rank%s here, too: %s in total.", others,
                 others == 1 ? " waits" : "s wait", units_time(time));
}

static void add_wait(struct finder *finder, const struct profile_callsite *site,
                     struct finder_wait wait)
{
    const int peer = wait.cause;
    wait.seconds = finder_subtract_startup(finder, site, wait);
    if (wait.seconds < finder->least)
        return;
    const bool awaits_receiver =
        peer >= 0 &&
        (sends(site->name) || (!is_message(site->name) && !receives_from(finder, wait.rank, peer)));
    const bool is_known = peer >= 0 || is_message(site->name);
    struct profile_finding *finding = finder_add(finder,
                                                 awaits_receiver ? "late-receiver"
                                                 : is_known      ? "late-sender"
                                                                 : "slow-requests",
                                                 wait.seconds, wait.rank, site);
    if (!finding)
        return;
    finding->peer = peer;
    finder_blame(finder, finding, peer);
    if (peer < 0)
        describe_requests(finder, finding);
    else if (awaits_receiver)
        describe_receiver(finder, finding);
    else
        describe_sender(finder, finding);
    add_others(&site->waits, finding);
}

/* The rank that waits longest at a call site stands for all. */
static struct finder_wait find_longest(const struct finder *finder,
                                       const struct profile_callsite *site)
{
    struct rank_waits most = {.rank = -1};
    for (size_t i = 0; i < site->waits.count;) {
        const struct rank_waits its = take_rank(&site->waits, i);
        most = its.time > most.time ? its : most;
        i += its.count;
    }
    return (struct finder_wait){most.rank, find_peer(finder, &most), most.time};
}

void findings_waits(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const struct finder_wait longest = find_longest(finder, site);
        const struct finder_wait sum = findings_short_waits(finder, site);
        add_wait(finder, site, longest.seconds >= 0.5 * sum.seconds ? longest : sum);
    }
}
