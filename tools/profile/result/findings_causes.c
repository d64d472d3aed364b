/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: why ranks wait. Many ranks may wait for one rank at several places; and the rank
 * for which others wait may be late because it is in another MPI call. These rules examine what the
 * rules about waiting have found.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A rank for which many others wait ------------------------------------------------------- */

/* How others wait for one rank: `longest` is the time of the rank that waits longest, and `total`
 * is the sum over the ranks that `ranks` counts. */
struct awaited {
    double total, longest;
    int ranks;  /* the number of ranks that wait at least half as long as the longest */
    int places; /* the number of `sites` that matter: 0, 1 or 2 */
    const struct profile_callsite *sites[2]; /* where the others wait most */
    double times[2];                         /* how long they wait there, in total */
};

/* For each rank that waits mainly for `peer` at a call site, adds this waiting time to the rank's
 * element of `sums`. Returns the sum over these ranks. Times are means over the threads of a rank.
 * In the list of waits, those of a rank are adjacent. */
static double add_site_waits(const struct finder *finder, const struct profile_callsite *site,
                             int peer, double *sums, int count)
{
    const struct profile_waits *waits = &site->waits;
    double sum = 0;
    for (size_t i = 0; i < waits->count;) {
        const int rank = waits->all[i].rank;
        double all = 0, its = 0;
        for (; i < waits->count && waits->all[i].rank == rank; i++) {
            const struct profile_wait *wait = &waits->all[i];
            all += wait->peer == rank ? 0 : wait->time;
            its += wait->peer == peer && peer != rank ? wait->time : 0;
        }
        if (!(its > 0) || its < 0.7 * all || rank < 0 || rank >= count)
            continue;
        sums[rank] += its / finder_threads(finder, rank);
        sum += its / finder_threads(finder, rank);
    }
    return sum;
}

static void add_awaited_site(struct awaited *awaited, const struct profile_callsite *site,
                             double time)
{
    const int place = time > awaited->times[0] ? 0 : time > awaited->times[1] ? 1 : 2;
    if (place == 0) {
        awaited->sites[1] = awaited->sites[0];
        awaited->times[1] = awaited->times[0];
    }
    if (place < 2) {
        awaited->sites[place] = site;
        awaited->times[place] = time;
    }
}

/* Finds how the other ranks wait for `peer`. Returns false if memory is exhausted. */
static bool find_awaited(const struct finder *finder, int peer, struct awaited *awaited)
{
    const struct profile_result *result = finder->result;
    const int count = finder_count_ranks(result);
    double *sums = calloc((size_t)count + 1, sizeof *sums);
    *awaited = (struct awaited){.total = 0};
    if (!sums)
        return false;
    for (size_t i = 0; i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        const double time = add_site_waits(finder, site, peer, sums, count);
        if (time > 0)
            add_awaited_site(awaited, site, time);
    }
    for (int i = 0; i < count; i++)
        awaited->longest = fmax(awaited->longest, sums[i]);
    for (int i = 0; i < count; i++) {
        if (sums[i] > 0 && sums[i] >= 0.5 * awaited->longest) {
            awaited->ranks++;
            awaited->total += sums[i];
        }
    }
    awaited->places = (awaited->times[0] > 0) +
                      (awaited->times[1] >= 0.1 * awaited->times[0] && awaited->times[1] > 0);
    free(sums);
    return true;
}

static void describe_bottleneck(const struct finder *finder, struct profile_finding *finding,
                                const struct awaited *awaited)
{
    char places[2][96];
    const double useful = finder_useful(finder, finding->rank);
    for (int i = 0; i < 2; i++)
        finder_describe_place(awaited->sites[i], places[i], sizeof places[i]);
    finder_summarize(finding, "Rank %d holds up %d ranks for %s in %s at \1", finding->rank,
                     awaited->ranks, finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "They wait for it at several places, most in %s at %s and %s at %s. It spends %s of "
             "the run outside MPI.",
             awaited->sites[0]->name, places[0], awaited->sites[1]->name, places[1],
             finder_amount(finder, useful));
    finding->advice =
        useful >= 0.5 * finding->seconds
            ? "Give a part of the work of this rank to the others. If it hands out work, let it do "
              "nothing else, and hand out larger parts."
            : "This rank serves more messages than it can: hand out larger parts of the work, let "
              "each rank ask for the next part before it needs it, or let several ranks serve.";
}

static void examine_awaited(struct finder *finder, int peer)
{
    struct awaited awaited;
    const int others = (int)finder->result->process_count - 1;
    finder->good = find_awaited(finder, peer, &awaited) && finder->good;
    if (!finder->good || awaited.places < 2 || awaited.ranks < 2 || 2 * awaited.ranks < others)
        return;
    const double startup = finder->startup.rank == peer ? finder->startup.seconds : 0;
    const double seconds = awaited.total / awaited.ranks - startup;
    struct profile_finding *finding =
        seconds < finder->least
            ? NULL
            : finder_add(finder, FINDING_BOTTLENECK, seconds, peer, awaited.sites[0]);
    if (!finding)
        return;
    finder_blame(finder, finding, peer);
    describe_bottleneck(finder, finding, &awaited);
}

/* Only a rank for which others wait according to a finding can be a bottleneck. Each such rank is
 * examined once. */
void finder_rule_bottleneck(struct finder *finder)
{
    const int count = finder->count;
    for (int i = 0; i < count; i++) {
        bool is_first =
            finder->causes[i] >= 0 && profile_finding_is(&finder->found[i], FINDING_AWAITS_PEER);
        for (int k = 0; k < i && is_first; k++)
            is_first = finder->causes[k] != finder->causes[i] ||
                       !profile_finding_is(&finder->found[k], FINDING_AWAITS_PEER);
        if (is_first)
            examine_awaited(finder, finder->causes[i]);
    }
}

/* ---- Activity of a late rank ----------------------------------------------------------------- */

/* A call site where a rank spends more time than the others. */
struct excess {
    const struct profile_callsite *site; /* NULL: there is none */
    double seconds;
};

/* Returns how much more time a rank spends at a call site than the others on average. */
static double find_site_excess(const struct finder *finder, const struct profile_callsite *site,
                               int rank)
{
    struct finder_ranks ranks;
    finder_ranks_of_site(finder, site, &ranks);
    const struct profile_rank_calls *it = finder_rank(&ranks, rank);
    const double its = it ? finder_total(it) : ranks.others ? ranks.mean.time : 0;
    const double others = fmax(ranks.sum.time - its, 0);
    const size_t count = finder->result->process_count;
    return its - (count > 1 ? others / (double)(count - 1) : 0);
}

/* MPI_Init and MPI_Finalize are not part of the run. */
static bool is_in_run(const char *function)
{
    const QMPIX_Role role = finder_traits(function).role;
    return role != QMPIX_ROLE_INIT && role != QMPIX_ROLE_FINALIZE &&
           role != QMPIX_ROLE_SESSION_INIT && role != QMPIX_ROLE_SESSION_FINALIZE;
}

static struct excess find_excess(const struct finder *finder, int rank,
                                 const struct profile_callsite *awaits)
{
    struct excess most = {NULL, 0};
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (site == awaits || !is_in_run(site->name))
            continue;
        const double seconds = find_site_excess(finder, site, rank);
        if (seconds > most.seconds)
            most = (struct excess){site, seconds};
    }
    return most;
}

/* Returns how much more time a rank spends outside MPI than the others on average. */
static double find_outside_excess(const struct finder *finder, int rank)
{
    const struct profile_result *result = finder->result;
    double others = 0;
    for (size_t i = 0; i < result->process_count; i++)
        others += result->processes[i].rank == rank ? 0 : result->processes[i].useful;
    return result->process_count > 1
               ? finder_useful(finder, rank) - others / (double)(result->process_count - 1)
               : 0;
}

/* ---- Time of a late rank outside MPI --------------------------------------------------------- */

/* Returns how much more time a rank spends between two calls than the others on average. */
static double find_pair_excess(const struct finder *finder, const struct profile_outside *it,
                               int rank)
{
    const size_t count = finder->result->process_count;
    double its = 0;
    for (size_t i = 0; i < it->ranks.count; i++)
        its = it->ranks.all[i].rank == rank ? it->ranks.all[i].time : its;
    return count > 1 ? its - (it->time.sum - its) / (double)(count - 1) : 0;
}

/* Writes "MPI_Send (file.c:12)", or `otherwise` if there is no call. */
static void put_call(const struct profile_callsite *site, const char *otherwise, char *text,
                     size_t size)
{
    char place[96];
    finder_describe_place(site, place, sizeof place);
    if (site)
        snprintf(text, size, "%s (%s)", site->name, place);
    else
        snprintf(text, size, "%s", otherwise);
}

/* A call that only the late rank makes before its work is a sign of serial work. */
static void put_only(struct profile_finding *finding)
{
    const size_t length = strlen(finding->meaning);
    snprintf(finding->meaning + length, sizeof finding->meaning - length,
             " No other rank makes the first of these calls.");
    finding->advice = "Check what only this rank does after that call, such as output or work that "
                      "all ranks could share.";
}

/* Adds the pair of calls of a finding to its meaning. `others` is a noun for the other ranks. */
static void put_pair(struct profile_finding *finding, int rank, const char *others)
{
    const size_t length = strlen(finding->meaning);
    char from[160], to[160];
    put_call(finding->from, "the start", from, sizeof from);
    put_call(finding->to, "the end", to, sizeof to);
    if (finding->from && finding->from == finding->to)
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " Rank %d spends %s more than %s between one call of %s and the next.", rank,
                 units_time(finding->excess), others, from);
    else
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " Rank %d spends %s more than %s between %s and %s.", rank,
                 units_time(finding->excess), others, from, to);
}

/* Names the two calls between which the time of a late rank exceeds the mean of the others most.
 * These times are sums over threads, so that they cannot be compared if ranks have several
 * threads. */
static void describe_outside(const struct finder *finder, struct profile_finding *finding, int rank)
{
    const double part = 0.25; /* the part of the finding's time that is worth mentioning */
    const struct profile_result *result = finder->result;
    const struct profile_outside *most = NULL;
    if (finder->threads > 1.01)
        return;
    for (size_t i = 0; i < result->outside_count; i++) {
        const double excess = find_pair_excess(finder, &result->outside[i], rank);
        if (excess > finding->excess) {
            finding->excess = excess;
            most = &result->outside[i];
        }
    }
    if (!most || finding->excess < part * finding->seconds) {
        finding->excess = 0;
        return;
    }
    finding->from = profile_callsite_find(result, most->from);
    finding->to = profile_callsite_find(result, most->to);
    put_pair(finding, rank, result->process_count > 2 ? "the others" : "the other rank");
}

static const char *choose_advice(const struct finder *finder, const char *function)
{
    if (finder_is_in(finder, function, "I/O"))
        return "Let all ranks read and write their part with collective functions, such as "
               "MPI_File_write_at_all; or let the others compute meanwhile, and communicate after "
               "the file has been accessed.";
    if (finder_is_collective(finder, function) || finder_is_message(function))
        return "Check for which rank the late rank waits in this call: that rank may be the cause.";
    return "Avoid this call, make it less often, or let the others compute meanwhile.";
}

/* Adds the reason why `rank`, for which others wait, is late. */
static void describe_cause(const struct finder *finder, struct profile_finding *finding, int rank)
{
    const struct excess excess = find_excess(finder, rank, finding->site);
    const size_t length = strlen(finding->meaning);
    char place[96];
    if (!excess.site || excess.seconds < 0.5 * finding->seconds ||
        excess.seconds < find_outside_excess(finder, rank)) {
        describe_outside(finder, finding, rank);
        if (finding->from && finding->from->ranks == 1 && finding->from != finding->to)
            put_only(finding);
        return;
    }
    finder_describe_place(excess.site, place, sizeof place);
    snprintf(finding->meaning + length, sizeof finding->meaning - length,
             " Meanwhile, rank %d is in %s at %s: %s.", rank, excess.site->name, place,
             finder_amount(finder, excess.seconds));
    finding->advice = choose_advice(finder, excess.site->name);
}

void finder_rule_causes(struct finder *finder)
{
    for (int i = 0; i < finder->count; i++) {
        struct profile_finding *finding = &finder->found[i];
        if (finder->causes[i] >= 0 && profile_finding_is(finding, FINDING_WAITS))
            describe_cause(finder, finding, finder->causes[i]);
        else if (profile_finding_is(finding, FINDING_NAMES_LATE_RANK))
            describe_outside(finder, finding, finding->rank);
    }
}

/* ---- Consequences ---------------------------------------------------------------------------- */

bool finder_explains(const struct finder *finder, int cause, int it)
{
    const struct profile_finding *mine = &finder->found[cause], *its = &finder->found[it];
    if (finder->causes[it] != mine->rank || !profile_finding_is(its, FINDING_WAITS))
        return false;
    if (mine->kind == FINDING_BOTTLENECK)
        return cause != it && its->seconds <= 1.1 * mine->seconds;
    if (mine->kind != FINDING_SERIAL_IO)
        return false;
    const struct excess excess = find_excess(finder, mine->rank, its->site);
    return excess.site && finder_is_in(finder, excess.site->name, "I/O") &&
           excess.seconds >= 0.5 * its->seconds &&
           excess.seconds >= find_outside_excess(finder, mine->rank);
}

/* States, in findings about serial I/O, where other ranks wait meanwhile. */
void finder_rule_serial_io(struct finder *finder)
{
    for (int cause = 0; cause < finder->count; cause++) {
        struct profile_finding *mine = &finder->found[cause];
        int longest = -1;
        for (int i = 0; i < finder->count && mine->kind == FINDING_SERIAL_IO; i++) {
            if (finder_explains(finder, cause, i) &&
                (longest < 0 || finder->found[i].seconds > finder->found[longest].seconds))
                longest = i;
        }
        if (longest < 0)
            continue;
        const struct profile_finding *its = &finder->found[longest];
        const size_t length = strlen(mine->meaning);
        char place[96];
        finder_describe_place(its->site, place, sizeof place);
        snprintf(mine->meaning + length, sizeof mine->meaning - length,
                 " Others wait for it meanwhile in %s at %s: %s.", its->site->name, place,
                 finder_amount(finder, its->seconds));
    }
}
