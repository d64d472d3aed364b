/* SPDX-License-Identifier: MIT */
/* See finder.h: ranks for which others wait in collectives, and slow collectives. */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The last rank --------------------------------------------------------------------------- */

/* When the ranks arrive at calls that they make together. */
struct arrival {
    int last;       /* the rank that comes last: it waits least */
    int candidates; /* the number of ranks that wait about as little as `last` */
    int first;      /* the rank that waits longest */
    int waiting;    /* the number of ranks that wait about as long as `first` */
    double wait;    /* the mean time for which these wait */
    double least;   /* the time of the rank that takes least in the calls */
    bool is_equal;  /* all ranks made the same number of calls */
    uint64_t calls; /* the number of calls of the known rank that takes least time */
};

/* Adds the ranks with unknown times that take at least `least`, which means that they wait. The
 * unknown times lie between two known ones. If `least` does as well, some of these ranks are
 * assumed to take the lower time, and the others the higher one, so that their mean is right. */
static void add_unknown_ranks(struct arrival *arrival, const struct finder_ranks *ranks,
                              double least)
{
    const double range = ranks->high - ranks->low;
    double part = 1, each = ranks->mean.time;
    if (ranks->low >= least) {
        part = 1;
    } else if (ranks->high < least || !(range > 0)) {
        part = 0;
    } else {
        part = (each - ranks->low) / range;
        each = ranks->high;
    }
    const int count = (int)(part * ranks->others + 0.5);
    arrival->wait += count * (each - arrival->least);
    arrival->waiting += count;
}

static void find_waiting(const struct finder_ranks *ranks, struct arrival *arrival, double most)
{
    const double least = arrival->least + 0.5 * (most - arrival->least);
    for (int i = 0; i < ranks->count; i++) {
        if (finder_total(&ranks->all[i]) >= least) {
            arrival->wait += finder_total(&ranks->all[i]) - arrival->least;
            arrival->waiting++;
        }
    }
    if (ranks->others)
        add_unknown_ranks(arrival, ranks, least);
    if (arrival->waiting)
        arrival->wait /= arrival->waiting;
}

/* Finds the last rank. Several ranks may wait little, as in a reduction to one rank. Of these, the
 * one that spends most time outside MPI is the last. If all ranks made calls, and the mean of the
 * unknown times is short, the ranks with unknown times are candidates, too. */
static void find_last(const struct finder *finder, const struct finder_ranks *ranks,
                      struct arrival *arrival, double most)
{
    const struct profile_result *result = finder->result;
    const double limit = arrival->least + 0.1 * (most - arrival->least);
    const bool all_call = (size_t)(ranks->count + ranks->others) == result->process_count;
    const bool others = ranks->others && all_call && ranks->mean.time <= limit;
    double useful = -1;
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *process = &result->processes[i];
        const struct profile_rank_calls *it = finder_rank(ranks, process->rank);
        if (it ? finder_total(it) > limit : !others)
            continue;
        arrival->candidates++;
        if (process->useful > useful) {
            useful = process->useful;
            arrival->last = process->rank;
        }
    }
    if (arrival->last < 0)
        arrival->last = ranks->all[0].rank;
}

/* Returns false if the calls of ranks are not known, or if only one rank made any. */
static bool find_arrival(const struct finder *finder, const struct finder_ranks *ranks,
                         struct arrival *arrival)
{
    const struct profile_rank_calls *all = ranks->all;
    if (!ranks->count || ranks->count + ranks->others < 2)
        return false;
    const double most = finder_total(&all[ranks->count - 1]);
    *arrival = (struct arrival){.last = -1,
                                .first = all[ranks->count - 1].rank,
                                .least = finder_total(&all[0]),
                                .is_equal = true,
                                .calls = all[0].calls};
    if (ranks->others && ranks->mean.time < arrival->least)
        arrival->least = ranks->mean.time;
    for (int i = 0; i < ranks->count; i++)
        arrival->is_equal = arrival->is_equal && all[i].calls == arrival->calls;
    if (ranks->others)
        arrival->is_equal = arrival->is_equal && ranks->mean.calls == arrival->calls;
    find_waiting(ranks, arrival, most);
    find_last(finder, ranks, arrival, most);
    return true;
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static void describe_last(const struct finder *finder, struct profile_finding *finding,
                          const struct arrival *arrival)
{
    const bool is_barrier = !strcmp(finding->site->name, "MPI_Barrier");
    char others[32] = "others wait", waiting[64] = "";
    if (arrival->waiting == 1)
        snprintf(others, sizeof others, "rank %d waits", arrival->first);
    else
        snprintf(waiting, sizeof waiting, "%d ranks wait for it, rank %d longest. ",
                 arrival->waiting, arrival->first);
    finder_summarize(finding, "Rank %d is last in %s at \1; %s %s", arrival->last,
                     finding->site->name, others, finder_amount(finder, arrival->wait));
    snprintf(finding->meaning, sizeof finding->meaning,
             "%sRank %d spends %s of the run outside MPI, and rank %d spends %s.", waiting,
             arrival->last, units_time(finder_useful(finder, arrival->last)), arrival->first,
             units_time(finder_useful(finder, arrival->first)));
    if (finder_useful(finder, arrival->last) < 0.5 * arrival->wait)
        finding->advice =
            "The last rank spends most of this time in MPI itself: check for which rank "
            "it waits, or whether it reads or writes a file.";
    else
        finding->advice =
            is_barrier
                ? "Check whether the barrier is needed; many barriers are not. If this one is, "
                  "distribute the work before it more evenly."
                : "Distribute the work before this call more evenly. If the result is not needed "
                  "at once, use the nonblocking form and compute until it completes.";
}

/* Returns the time of the rank that waits longest for a processor. */
static double find_most_queued(const struct finder *finder)
{
    double queued = 0;
    for (size_t i = 0; i < finder->result->process_count; i++)
        queued = fmax(queued, finder->result->processes[i].queued);
    return queued;
}

/* Describes that each rank waits, but not always for the same rank. */
static void describe_turns(const struct finder *finder, struct profile_finding *finding)
{
    finder_summarize(finding, "Rank %d waits %s in %s at \1, as do others", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    if (find_most_queued(finder) >= finding->seconds) {
        snprintf(finding->meaning, sizeof finding->meaning,
                 "All ranks take longer than the data of these calls explain. Ranks wait for a "
                 "processor at times, and the others wait for them in these calls.");
        finding->advice = "Give each rank a processor of its own, then measure again.";
        return;
    }
    snprintf(finding->meaning, sizeof finding->meaning,
             "All ranks take longer than the data of these calls explain: the rank that comes last "
             "changes from call to call, or the network is slow.");
    finding->advice = "Run with sync=yes, which tells waiting from working. If ranks wait, "
                      "distribute the work of each step more evenly.";
}

/* Describes that the profiled ranks wait, perhaps for a rank that was not profiled. */
static void describe_off(const struct finder *finder, struct profile_finding *finding, int off)
{
    finder_summarize(finding, "Rank %d waits %s in %s at \1 for other ranks", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "Rank %d was not profiled for %s (MPI_Pcontrol): it is not known whether it is late.",
             off, finder_amount(finder, finder_off(finder, off)));
    finding->advice = finder_advice_off;
}

/* If several ranks wait little, the last rank may differ from call to call, unless it works for
 * longer than those that wait. */
static bool is_always_last(const struct finder *finder, const struct arrival *arrival)
{
    return arrival->candidates < 2 ||
           finder_useful(finder, arrival->last) - finder_useful(finder, arrival->first) >=
               0.5 * arrival->wait;
}

static void describe_unknown(const struct finder *finder, struct profile_finding *finding,
                             const struct arrival *arrival)
{
    finder_summarize(finding, "Rank %d waits %s in %s at \1 for other ranks", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "%d ranks do not wait here. None of them computes for longer than rank %d: the one "
             "that comes last may change from call to call.",
             arrival->candidates, finding->rank);
    finding->advice =
        "Distribute the work of each step more evenly. If the result is not needed at "
        "once, use the nonblocking form and compute until it completes.";
}

/* ---- Slow collectives ------------------------------------------------------------------------ */

static double bytes_per_call(const struct profile_calls *calls)
{
    const double bytes = (double)calls->sent + (double)calls->received;
    return calls->calls ? bytes / (double)calls->calls : 0;
}

/* Returns the time of the fastest call of the same function, with a similar size and by as many
 * ranks, in the whole run. */
static double find_fastest(const struct finder *finder, const struct profile_callsite *site)
{
    const double bytes = bytes_per_call(&site->calls);
    double fastest = site->calls.shortest;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *it = &finder->result->callsites[i];
        const double its = bytes_per_call(&it->calls);
        if (!strcmp(it->name, site->name) && it->ranks == site->ranks && its >= 0.5 * bytes &&
            its <= 2 * bytes)
            fastest = fmin(fastest, it->calls.shortest);
    }
    return fastest;
}

/* Returns an upper bound of the time for which a rank waits in collective operations: the sum of
 * the times that all other ranks spend elsewhere, plus the longest time for which any rank waits
 * for a processor. */
static double find_most_waiting(const struct finder *finder, int rank)
{
    const struct profile_result *result = finder->result;
    double elsewhere = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const int other = result->processes[i].rank;
        elsewhere += other == rank ? 0 : finder_elsewhere(finder, other);
    }
    return elsewhere + find_most_queued(finder);
}

/* Finds the rank that spends least time in the calls. If waiting was measured, it is not
 * counted. */
static const struct profile_rank_calls *find_least(const struct finder_ranks *ranks, bool measured)
{
    const struct profile_rank_calls *least = &ranks->all[0];
    for (int i = 1; i < ranks->count && measured; i++)
        least = ranks->all[i].time < least->time ? &ranks->all[i] : least;
    return least;
}

double finder_slow_time(const struct finder *finder, const struct profile_callsite *site,
                        const struct finder_ranks *ranks)
{
    enum { MANY = 10, SLOW = 4 };
    const unsigned started = QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT;
    const QMPIX_Traits traits = finder_traits(site->name);
    const bool measured = site->calls.wait.sum > 0;
    if (traits.role != QMPIX_ROLE_COLLECTIVE || traits.flags & started ||
        ranks->count + ranks->others < 2 || !ranks->count)
        return 0;
    const struct profile_rank_calls *least = find_least(ranks, measured);
    for (int i = 0; i < ranks->count; i++) {
        if (ranks->all[i].calls != least->calls || finder_off(finder, ranks->all[i].rank) > 0)
            return 0;
    }
    const double usual = find_fastest(finder, site) * (double)least->calls;
    const double time = measured ? least->time : finder_total(least);
    const double waiting = measured ? 0 : find_most_waiting(finder, least->rank);
    return least->calls >= MANY && time - waiting >= SLOW * usual ? time - waiting - usual : 0;
}

/* Adds a finding if the calls are slow. Returns whether they are. */
static bool add_slow(struct finder *finder, const struct profile_callsite *site,
                     const struct finder_ranks *ranks)
{
    const double seconds = finder_slow_time(finder, site, ranks);
    if (seconds < finder->least)
        return false;
    const bool measured = site->calls.wait.sum > 0;
    const struct profile_rank_calls *least = find_least(ranks, measured);
    struct profile_finding *finding =
        finder_add(finder, FINDING_SLOW_COLLECTIVES, seconds, least->rank, site);
    if (!finding)
        return true;
    finder_summarize(finding, "Rank %d loses %s in slow %s at \1", least->rank,
                     finder_amount(finder, seconds), site->name);
    snprintf(
        finding->meaning, sizeof finding->meaning,
        "It makes %llu calls here, which send %s and receive %s on average. Each takes %s, but "
        "the fastest such call of the run took %s. Waiting for other ranks does not explain "
        "that.",
        (unsigned long long)least->calls, units_bytes((double)least->sent / (double)least->calls),
        units_bytes((double)least->received / (double)least->calls),
        units_time((measured ? least->time : finder_total(least)) / (double)least->calls),
        units_time(find_fastest(finder, site)));
    finding->advice =
        "Check what these calls do differently: a user-defined operation or a datatype with gaps "
        "takes time for each element. Otherwise, compare the algorithms of the MPI library, and "
        "check what else uses the network or the node.";
    return true;
}

/* ---- All collectives ------------------------------------------------------------------------- */

/* Adds findings about slow calls and about the arrival of the ranks. If the others wait much longer
 * than one rank, that rank is assumed to be last in every call. If all ranks take longer than their
 * data explain, they are assumed to take turns in being last. `off` is a rank that was not profiled
 * for some time; -1: there is none. */
static void add_arrival(struct finder *finder, const struct profile_callsite *site,
                        const struct finder_ranks *ranks, struct arrival *arrival, int off)
{
    const bool is_barrier = !strcmp(site->name, "MPI_Barrier");
    const enum profile_finding_kind kind = is_barrier ? FINDING_BARRIER : FINDING_IMBALANCE;
    const double bytes = ranks->sum.bytes / (ranks->count + ranks->others);
    const double turns = arrival->least - finder_explain(arrival->calls, bytes);
    struct profile_finding *finding;
    arrival->wait = finder_subtract_startup(
        finder, site, (struct finder_wait){arrival->first, arrival->last, arrival->wait, 0});
    const bool takes_turns = turns >= finder->least && turns > 0.7 * arrival->wait &&
                             finder_is_in(finder, site->name, "collective");
    const bool is_slow = add_slow(finder, site, ranks);
    if (takes_turns && is_slow)
        return;
    if (takes_turns) {
        finding = finder_add(finder, kind, turns + arrival->wait, arrival->first, site);
        if (finding && off >= 0)
            describe_off(finder, finding, off);
        else if (finding)
            describe_turns(finder, finding);
        return;
    }
    if (arrival->wait < finder->least)
        return;
    if (!is_always_last(finder, arrival)) {
        finding = finder_add(finder, kind, arrival->wait, arrival->first, site);
        if (finding)
            describe_unknown(finder, finding, arrival);
        return;
    }
    finding = finder_add(finder, kind, arrival->wait, arrival->last, site);
    if (finding) {
        finder_blame(finder, finding, arrival->last);
        describe_last(finder, finding, arrival);
    }
}

/* Returns whether different ranks call the function at different places, as in the branches of `if
 * (rank == 0)`. */
static bool is_scattered(const struct finder *finder, const struct profile_function *function)
{
    bool has_all = false, has_part = false;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (strcmp(site->name, function->name) != 0)
            continue;
        has_all = has_all || site->ranks == function->ranks;
        has_part = has_part || site->ranks < function->ranks;
    }
    return has_part && !has_all;
}

/* Leaves out the ranks that were not profiled for some time, because they seem to take less time
 * than the others. Returns the one of them with the least time, or -1 if there is none. */
static int leave_out_off(const struct finder *finder, struct finder_ranks *ranks)
{
    int kept = 0, first = -1;
    for (int i = 0; i < ranks->count; i++) {
        if (!(finder_off(finder, ranks->all[i].rank) > 0))
            ranks->all[kept++] = ranks->all[i];
        else if (first < 0)
            first = ranks->all[i].rank;
    }
    ranks->count = kept;
    return first;
}

/* Adds a finding about the only rank that was always profiled. It is unknown for which of the
 * others this rank waits. */
static void add_alone(struct finder *finder, const struct profile_callsite *site,
                      const struct finder_ranks *ranks, int off)
{
    const struct profile_rank_calls *it = ranks->all;
    const double bytes = (double)it->sent + (double)it->received;
    const double seconds = finder_total(it) - finder_explain(it->calls, bytes);
    struct profile_finding *finding =
        seconds < finder->least
            ? NULL
            : finder_add(finder,
                         strcmp(site->name, "MPI_Barrier") != 0 ? FINDING_IMBALANCE
                                                                : FINDING_BARRIER,
                         seconds, it->rank, site);
    if (finding)
        describe_off(finder, finding, off);
}

static void examine_ranks(struct finder *finder, const struct profile_callsite *site,
                          struct finder_ranks *ranks)
{
    struct arrival arrival;
    const int off = leave_out_off(finder, ranks);
    if (find_arrival(finder, ranks, &arrival))
        add_arrival(finder, site, ranks, &arrival, off);
    else if (off >= 0 && ranks->count == 1 && finder_is_in(finder, site->name, "collective"))
        add_alone(finder, site, ranks, off);
}

static void examine_sites(struct finder *finder, const struct profile_function *function)
{
    struct finder_ranks ranks;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (strcmp(site->name, function->name) != 0)
            continue;
        finder_ranks_of_site(finder, site, &ranks);
        examine_ranks(finder, site, &ranks);
    }
}

void finder_rule_collectives(struct finder *finder)
{
    struct arrival arrival;
    struct finder_ranks ranks;
    for (size_t i = 0; i < finder->result->function_count; i++) {
        const struct profile_function *function = &finder->result->functions[i];
        if (!finder_is_collective(finder, function->name))
            continue;
        finder_ranks_of_function(finder, function, &ranks);
        if (is_scattered(finder, function) && find_arrival(finder, &ranks, &arrival) &&
            arrival.is_equal)
            examine_ranks(finder, finder_longest(finder, function->name), &ranks);
        else
            examine_sites(finder, function);
    }
}
