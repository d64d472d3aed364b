/* SPDX-License-Identifier: MIT */
/* See finder.h: ranks that wait for peers in point-to-point calls, or for access to a window. */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Many short waits ------------------------------------------------------------------------ */

/* Finds the rank whose calls take most excess time. Excess time is the time beyond that of equally
 * many calls of the shortest duration. */
static struct finder_wait find_excess_time(const struct finder *finder,
                                           const struct profile_callsite *site)
{
    struct finder_wait most = {-1, -1, 0, 0};
    struct finder_ranks ranks;
    finder_ranks_of_site(finder, site, &ranks);
    for (int i = 0; i < ranks.count; i++) {
        const struct profile_rank_calls *it = &ranks.all[i];
        const double least = (double)it->calls * site->calls.shortest;
        const double excess = it->time - least / finder_threads(finder, it->rank);
        if (excess > most.seconds)
            most = (struct finder_wait){it->rank, -1, excess, 0};
    }
    return most;
}

/* Finds the rank that waits longest in many short point-to-point calls, each of which is too short
 * to be recorded as a wait. If no neighbour of this rank works for longer, the calls are slow for
 * another reason. `seconds` is then 0. */
static struct finder_wait find_short_waits(const struct finder *finder,
                                           const struct profile_callsite *site)
{
    const struct finder_wait none = {-1, -1, 0, 0};
    const struct profile_function *function = finder_function(finder, site->name);
    if (!function || site->calls.polling > 0 ||
        (strcmp(function->group, "point-to-point") != 0 &&
         strcmp(function->group, "completion") != 0))
        return none;
    struct finder_wait wait = find_excess_time(finder, site);
    wait.cause = wait.rank < 0 ? -1 : finder_busiest_neighbor(finder, wait.rank);
    if (wait.cause < 0 || finder_off(finder, wait.cause) + finder_off(finder, wait.rank) > 0 ||
        finder_useful(finder, wait.cause) - finder_useful(finder, wait.rank) < 0.5 * wait.seconds)
        return none;
    return wait;
}

/* ---- Waits for a peer ------------------------------------------------------------------------ */

/* The waits of one rank at a call site. They are adjacent in the list of waits. Files of older
 * versions also contain waits of a rank for its own messages to itself, which are ignored. */
struct rank_waits {
    int rank;
    double time;    /* the mean over its threads; the time of each wait is the sum over them */
    double threads; /* see finder_threads */
    const struct profile_wait *first;
    size_t count;
};

static struct rank_waits take_rank_waits(const struct finder *finder,
                                         const struct profile_waits *waits, size_t at)
{
    const int rank = waits->all[at].rank;
    struct rank_waits taken = {rank, 0, finder_threads(finder, rank), &waits->all[at], 0};
    for (; at < waits->count && waits->all[at].rank == rank; at++) {
        taken.time += waits->all[at].peer == rank ? 0 : waits->all[at].time / taken.threads;
        taken.count++;
    }
    return taken;
}

/* Returns the peer for which the rank waits longest. If it waits about as long for several peers,
 * because a call completes their operations together, returns the one that works most. Returns -1
 * if the peer is unknown or there is none. */
static int find_awaited_peer(const struct finder *finder, const struct rank_waits *waits)
{
    double most = 0, useful = -1;
    int peer = -1;
    for (size_t i = 0; i < waits->count; i++)
        most = waits->first[i].peer != waits->rank ? fmax(waits->first[i].time, most) : most;
    for (size_t i = 0; i < waits->count; i++) {
        const struct profile_wait *wait = &waits->first[i];
        const double its_useful = wait->peer < 0 ? 0 : finder_useful(finder, wait->peer);
        if (wait->peer != wait->rank && wait->time >= 0.8 * most && its_useful > useful) {
            peer = wait->peer;
            useful = its_useful;
        }
    }
    return peer;
}

/* Returns the number of ranks for which the rank waits for long, or 1 if `peer` alone explains the
 * wait. The time of a call that completes several operations is divided among their peers, so that
 * `peer` is then judged by its work. */
static int count_peers(const struct finder *finder, const char *function,
                       const struct rank_waits *waits, int peer)
{
    const bool is_divided = !finder_is_message(function) && strcmp(function, "MPI_Wait") != 0;
    double most = 0, its = 0;
    int count = 0;
    for (size_t i = 0; i < waits->count; i++)
        most = waits->first[i].peer != waits->rank ? fmax(waits->first[i].time, most) : most;
    for (size_t i = 0; i < waits->count; i++) {
        its = waits->first[i].peer == peer ? waits->first[i].time : its;
        count += waits->first[i].peer != waits->rank && waits->first[i].time >= 0.5 * most;
    }
    const bool is_one =
        is_divided
            ? finder_useful(finder, peer) - finder_useful(finder, waits->rank) >= 0.5 * waits->time
            : its >= 0.7 * waits->threads * waits->time;
    return is_one ? 1 : count;
}

/* Returns whether the peer is in MPI itself while the rank waits for it. Giving the peer less work
 * does not help then. */
static bool is_in_mpi(const struct finder *finder, const struct profile_finding *finding, int peers)
{
    return finder_useful(finder, finding->peer) < 0.5 * finding->seconds / (peers > 1 ? peers : 1);
}

static const char *const advice_in_mpi =
    "The peer is in MPI itself for most of this time: check which rank it waits for. If the two "
    "ranks wait for each other, send fewer and larger messages, and check that the ranks share "
    "no processor with each other or with other programs.";

static void summarize_wait(const struct finder *finder, struct profile_finding *finding, int peers)
{
    const char *amount = finder_amount(finder, finding->seconds), *name = finding->site->name;
    if (peers > 1)
        finder_summarize(finding, "Rank %d waits %s in %s at \1 for %d ranks", finding->rank,
                         amount, name, peers);
    else
        finder_summarize(finding, "Rank %d waits %s in %s at \1 for rank %d", finding->rank, amount,
                         name, finding->peer);
}

static const char *describe_peers(int peers)
{
    return peers > 1 ? " It does not always wait for the same rank." : "";
}

/* Describes what the peer does, as far as that is known. */
static const char *describe_peer(const struct finder *finder, const struct profile_finding *finding,
                                 char *text, size_t size)
{
    const double off = finder_off(finder, finding->peer);
    if (off > 0)
        snprintf(text, size,
                 "Rank %d was not profiled for %s (MPI_Pcontrol): what it did is "
                 "not known.",
                 finding->peer, finder_amount(finder, off));
    else
        snprintf(text, size, "Rank %d spends %s of the run outside MPI.", finding->peer,
                 finder_amount(finder, finder_useful(finder, finding->peer)));
    return text;
}

/* Chooses between the advice for calls that complete requests, and for calls that transfer a
 * message. Other advice takes precedence if the peer was not profiled for some time, or is in MPI
 * itself. */
static void set_wait_advice(const struct finder *finder, struct profile_finding *finding, int peers,
                            const char *completion, const char *message)
{
    if (finder_off(finder, finding->peer) > 0)
        finding->advice = finder_advice_off;
    else if (is_in_mpi(finder, finding, peers))
        finding->advice = advice_in_mpi;
    else
        finding->advice = finder_is_message(finding->site->name) ? message : completion;
}

static const char *const send_earlier =
    "Let the sender send earlier, or give it less work; or post the receive with MPI_Irecv and "
    "compute until the message has arrived.";
static const char *const receive_earlier =
    "Let the receiver post its receive earlier, for example with MPI_Irecv, or send with MPI_Isend "
    "and compute until the send completes.";

static void describe_late_sender(const struct finder *finder, struct profile_finding *finding,
                                 int peers)
{
    char peer[128];
    summarize_wait(finder, finding, peers);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The receiver is ready before the sender.%s %s", describe_peers(peers),
             describe_peer(finder, finding, peer, sizeof peer));
    set_wait_advice(
        finder, finding, peers,
        "Let the sender send earlier, or give it less work; or compute for longer between "
        "MPI_Irecv and this call.",
        send_earlier);
}

/* MPI libraries copy small messages, so that their sender does not wait for the receiver. */
static bool has_small_messages(const struct profile_callsite *site)
{
    enum { SMALL = 1024 };
    const QMPIX_Traits traits = finder_traits(site->name);
    const unsigned others = QMPIX_TRAIT_BUFFERED | QMPIX_TRAIT_READY | QMPIX_TRAIT_SYNCHRONOUS |
                            QMPIX_TRAIT_NONBLOCKING;
    return !(traits.role == QMPIX_ROLE_SEND && traits.flags & others) && site->messages &&
           (double)site->calls.sent <= SMALL * (double)site->messages;
}

/* Describes why a send waits for its receiver. */
static const char *describe_receiver(const struct profile_callsite *site)
{
    return finder_is_message(site->name) && has_small_messages(site)
               ? "many small messages are pending, and it receives them slowly"
               : "a large or synchronous message is not sent before its receive is posted";
}

static void describe_late_receiver(const struct finder *finder, struct profile_finding *finding,
                                   int peers)
{
    const char *reason = describe_receiver(finding->site);
    char peer[128];
    summarize_wait(finder, finding, peers);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The sender is ready before the receiver: %s.%s %s", reason, describe_peers(peers),
             describe_peer(finder, finding, peer, sizeof peer));
    set_wait_advice(
        finder, finding, peers,
        "Let the receiver post its receive earlier, for example with MPI_Irecv; or compute for "
        "longer between the send and this call.",
        receive_earlier);
}

/* Describes a call that sends or receives a message, and waits for an unknown rank. */
static void describe_unknown_peer(const struct finder *finder, struct profile_finding *finding,
                                  bool awaits_receiver)
{
    static const char unknown[] = "The profile does not know for which rank: it may not be in "
                                  "MPI_COMM_WORLD, as a process that was spawned.";
    finder_summarize(finding, "Rank %d waits %s in %s at \1", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    if (awaits_receiver)
        snprintf(finding->meaning, sizeof finding->meaning,
                 "The sender is ready before the receiver: %s. %s",
                 describe_receiver(finding->site), unknown);
    else
        snprintf(finding->meaning, sizeof finding->meaning,
                 "The receiver is ready before the sender. %s", unknown);
    finding->advice = awaits_receiver ? receive_earlier : send_earlier;
}

static void describe_requests(const struct finder *finder, struct profile_finding *finding)
{
    finding->advice = "Check which operations this call completes. If they are sends, post their "
                      "receives earlier; otherwise, compute for longer before the call.";
    finder_summarize(finding, "Rank %d waits %s in %s at \1", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "The profile does not know for which rank: the completed operations may be sends that "
             "wait for their receivers, or nonblocking collectives that wait for other ranks.");
}

static void mention_other_waits(const struct finder *finder, const struct profile_waits *waits,
                                struct profile_finding *finding)
{
    const size_t length = strlen(finding->meaning);
    double time = 0;
    int others = 0;
    for (size_t i = 0; i < waits->count;) {
        const struct rank_waits its = take_rank_waits(finder, waits, i);
        others += its.rank != finding->rank && its.time >= 0.1 * finding->seconds;
        time += its.time;
        i += its.count;
    }
    if (others)
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " %d other rank%s here, too: %s in total.", others,
                 others == 1 ? " waits" : "s wait", units_time(time));
}

static void add_wait_finding(struct finder *finder, const struct profile_callsite *site,
                             struct finder_wait wait)
{
    const int peer = wait.cause;
    wait.seconds = finder_subtract_startup(finder, site, wait);
    if (wait.seconds < finder->least)
        return;
    const bool awaits_receiver = finder_awaits_receiver(finder, site, wait.rank, peer);
    const bool is_known = peer >= 0 || finder_is_message(site->name);
    struct profile_finding *finding = finder_add(finder,
                                                 awaits_receiver ? FINDING_LATE_RECEIVER
                                                 : is_known      ? FINDING_LATE_SENDER
                                                                 : FINDING_SLOW_REQUESTS,
                                                 wait.seconds, wait.rank, site);
    if (!finding)
        return;
    finding->peer = peer;
    if (wait.peers < 2 && !(finder_off(finder, peer) > 0))
        finder_blame(finder, finding, peer);
    if (peer < 0 && is_known)
        describe_unknown_peer(finder, finding, awaits_receiver);
    else if (peer < 0)
        describe_requests(finder, finding);
    else if (awaits_receiver)
        describe_late_receiver(finder, finding, wait.peers);
    else
        describe_late_sender(finder, finding, wait.peers);
    mention_other_waits(finder, &site->waits, finding);
}

/* Each call site gets at most one finding, about the rank that waits longest. */
static struct finder_wait find_longest_wait(const struct finder *finder,
                                            const struct profile_callsite *site)
{
    struct rank_waits most = {.rank = -1};
    for (size_t i = 0; i < site->waits.count;) {
        const struct rank_waits its = take_rank_waits(finder, &site->waits, i);
        most = its.time > most.time ? its : most;
        i += its.count;
    }
    const int peer = find_awaited_peer(finder, &most);
    return (struct finder_wait){most.rank, peer, most.time,
                                peer < 0 ? 0 : count_peers(finder, site->name, &most, peer)};
}

void finder_rule_waits(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const struct finder_wait longest = find_longest_wait(finder, site);
        const struct finder_wait sum = find_short_waits(finder, site);
        add_wait_finding(finder, site, longest.seconds >= 0.5 * sum.seconds ? longest : sum);
    }
}

/* ---- One-sided communication ----------------------------------------------------------------- */

/* The functions that wait for access to a window. MPI_Win_fence is collective: see
 * findings_collectives.c. */
static const struct {
    const char *function;
    const char *meaning, *advice;
} access_waits[] = {
    {"MPI_Win_wait",
     "The call waits until all ranks of the group of MPI_Win_post have called MPI_Win_complete.",
     "Let the ranks that access the window call MPI_Win_complete earlier, or give them less work; "
     "or compute between MPI_Win_post and this call."},
    {"MPI_Win_start",
     "The call waits until the ranks whose windows are accessed have called MPI_Win_post.",
     "Let these ranks call MPI_Win_post earlier, or compute before this call."},
    {"MPI_Win_complete",
     "The call waits until the ranks whose windows are accessed have called MPI_Win_post, and the "
     "data has been transferred.",
     "Let these ranks call MPI_Win_post earlier, or compute between the accesses and this call."},
    {"MPI_Win_lock", "Another rank has locked the window, or its owner is not in MPI.",
     "Use MPI_LOCK_SHARED if accesses do not conflict, hold locks for a shorter time, and let the "
     "owner of the window call MPI from time to time."},
    {"MPI_Win_unlock",
     "The call waits for the lock, if another rank has it, and until the accesses are complete.",
     "Use MPI_LOCK_SHARED if accesses do not conflict, hold locks for a shorter time, and let the "
     "owner of the window call MPI from time to time."},
};

static int find_access_function(const char *name)
{
    for (size_t i = 0; i < sizeof access_waits / sizeof *access_waits; i++) {
        if (!strcmp(access_waits[i].function, name))
            return (int)i;
    }
    return -1;
}

bool finder_awaits_access(const char *function)
{
    return find_access_function(function) >= 0;
}

static void add_access_wait(struct finder *finder, const struct profile_callsite *site,
                            int function, const struct profile_rank_calls *it)
{
    const double seconds =
        finder_total(it) - finder_explain(it->calls, finder_access_bytes(finder));
    if (seconds < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_ONE_SIDED_WAIT, seconds, it->rank, site);
    if (!finding)
        return;
    const int peer = finder_busiest_neighbor(finder, it->rank);
    if (peer >= 0 && !(finder_off(finder, peer) + finder_off(finder, it->rank) > 0) &&
        finder_useful(finder, peer) - finder_useful(finder, it->rank) >= 0.5 * seconds) {
        finding->peer = peer;
        finder_blame(finder, finding, peer);
        finder_summarize(finding, "Rank %d waits %s in %s at \1 for rank %d", it->rank,
                         finder_amount(finder, seconds), site->name, peer);
        snprintf(finding->meaning, sizeof finding->meaning,
                 "%s Rank %d spends %s of the run outside MPI.", access_waits[function].meaning,
                 peer, finder_amount(finder, finder_useful(finder, peer)));
    } else {
        finder_summarize(finding, "Rank %d waits %s in %s at \1", it->rank,
                         finder_amount(finder, seconds), site->name);
        snprintf(finding->meaning, sizeof finding->meaning, "%s", access_waits[function].meaning);
    }
    finding->advice = access_waits[function].advice;
}

/* Each call site gets at most one finding, about the rank that waits longest. */
void finder_rule_access(struct finder *finder)
{
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const int function = find_access_function(site->name);
        struct finder_ranks ranks;
        if (function < 0)
            continue;
        finder_ranks_of_site(finder, site, &ranks);
        if (ranks.count)
            add_access_wait(finder, site, function, &ranks.all[ranks.count - 1]);
    }
}
