/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: ranks for which others wait in collectives. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Who comes last -------------------------------------------------------------------------- */

/* Of calls that several ranks make together. */
struct arrival {
    int last;       /* the rank that comes last: it waits least */
    int first;      /* the one that waits longest */
    int waiting;    /* how many ranks wait for it: about as long as `first`, */
    double wait;    /* each so long */
    double least;   /* in all of the calls, of the rank that takes least */
    bool is_equal;  /* all ranks made the same number of calls */
    uint64_t calls; /* of a rank */
};

static double total(const struct profile_rank_calls *calls)
{
    return calls->time + calls->wait;
}

static bool find_range(const struct profile_by_rank *by_rank, struct arrival *arrival, double *most)
{
    int count = 0;
    *most = 0;
    arrival->is_equal = true;
    for (size_t i = 0; i < by_rank->count; i++) {
        const struct profile_rank_calls *it = &by_rank->all[i];
        if (!it->calls)
            continue;
        if (!count++ || total(it) < arrival->least)
            arrival->least = total(it);
        if (total(it) > *most || count == 1) {
            *most = total(it);
            arrival->first = it->rank;
        }
        arrival->is_equal = arrival->is_equal && (count == 1 || it->calls == arrival->calls);
        arrival->calls = it->calls;
    }
    return count > 1;
}

/* Several ranks may wait little, as in a reduction to one rank: the one that works most is late. */
static void find_last(const struct finder *finder, const struct profile_by_rank *by_rank,
                      struct arrival *arrival, double most)
{
    double useful = -1;
    for (size_t i = 0; i < by_rank->count; i++) {
        const struct profile_rank_calls *it = &by_rank->all[i];
        const double its_useful = finder_useful(finder, it->rank);
        if (!it->calls)
            continue;
        if (total(it) <= arrival->least + 0.1 * (most - arrival->least) && its_useful > useful) {
            useful = its_useful;
            arrival->last = it->rank;
        }
        if (total(it) >= arrival->least + 0.5 * (most - arrival->least)) {
            arrival->wait += total(it) - arrival->least;
            arrival->waiting++;
        }
    }
    if (arrival->waiting)
        arrival->wait /= arrival->waiting;
}

/* False: the calls of ranks are not known, or only one rank made any. */
static bool find_arrival(const struct finder *finder, const struct profile_by_rank *by_rank,
                         struct arrival *arrival)
{
    double most;
    *arrival = (struct arrival){.last = -1, .first = -1};
    if (!find_range(by_rank, arrival, &most))
        return false;
    find_last(finder, by_rank, arrival, most);
    return true;
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && !strcmp(name + length - tail, end);
}

static bool is_collective(const struct finder *finder, const char *name)
{
    static const char *const ends[] = {"_all",         "_at_all",   "_ordered",  "File_open",
                                       "File_close",   "_set_view", "Win_fence", "Win_create",
                                       "Win_allocate", "Win_free",  "_all_end",  "_ordered_end"};
    static const char *const communicators[] = {"Comm_dup",
                                                "Comm_create",
                                                "Comm_split",
                                                "Comm_split_type",
                                                "Cart_create",
                                                "Graph_create",
                                                "Dist_graph_create_adjacent",
                                                "Dist_graph_create"};
    if (finder_is_in(finder, name, "collective"))
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(name, ends[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof communicators / sizeof *communicators; i++) {
        if (ends_with(name, communicators[i]))
            return true;
    }
    return false;
}

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
    finder_summarize(finding, "Rank %d is last at \2%s, \3\1; %s %s", arrival->last,
                     finding->site->name, others, finder_amount(finder, arrival->wait));
    snprintf(finding->meaning, sizeof finding->meaning,
             "%sRank %d spends %s of the run outside MPI, rank %d %s.", waiting, arrival->last,
             units_time(finder_useful(finder, arrival->last)), arrival->first,
             units_time(finder_useful(finder, arrival->first)));
    finding->advice =
        is_barrier
            ? "Check whether the barrier is needed; many are not. If it is, distribute the "
              "work before it more evenly."
            : "Distribute the work before this call more evenly, or use the nonblocking form "
              "and compute until it completes.";
}

/* Each rank waits, but not always for the same one. */
static void describe_turns(const struct finder *finder, struct profile_finding *finding)
{
    finder_summarize(finding, "Rank %d waits %s \2in %s \3at \1, others too", finding->rank,
                     finder_amount(finder, finding->seconds), finding->site->name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "All ranks take longer than the data of these calls explain: the rank that comes last "
             "changes from call to call, or the network is slow.");
    finding->advice = "Run with sync=yes, which tells waiting from working. If ranks wait, "
                      "distribute the work of each step more evenly.";
}

/* What `calls` of a rank that move `bytes` take where no rank waits. */
static double explain(uint64_t calls, double bytes)
{
    return 20e-6 * (double)calls + 2e-9 * bytes;
}

static void add_arrival(struct finder *finder, const struct profile_callsite *site,
                        const struct profile_calls *calls, struct arrival *arrival)
{
    const bool is_barrier = !strcmp(site->name, "MPI_Barrier");
    const double bytes =
        ((double)calls->sent + (double)calls->received) / (site->ranks ? site->ranks : 1);
    const double turns = arrival->least - explain(arrival->calls, bytes);
    struct profile_finding *finding;
    arrival->wait = finder_subtract_startup(
        finder, site, (struct finder_wait){arrival->first, arrival->last, arrival->wait});
    if (arrival->wait >= finder->least) {
        finding = finder_add(finder, is_barrier ? "barrier" : "imbalance", arrival->wait,
                             arrival->last, site);
        if (finding) {
            finder_blame(finder, finding, arrival->last);
            describe_last(finder, finding, arrival);
        }
    } else if (turns >= finder->least && finder_is_in(finder, site->name, "collective")) {
        finding = finder_add(finder, is_barrier ? "barrier" : "imbalance", turns + arrival->wait,
                             arrival->first, site);
        if (finding)
            describe_turns(finder, finding);
    }
}

/* Whether ranks call the function at different places, as if (rank == 0) makes them. */
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

static void look_at_sites(struct finder *finder, const struct profile_function *function)
{
    struct arrival arrival;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (!strcmp(site->name, function->name) && find_arrival(finder, &site->by_rank, &arrival))
            add_arrival(finder, site, &site->calls, &arrival);
    }
}

void findings_collectives(struct finder *finder)
{
    struct arrival arrival;
    for (size_t i = 0; i < finder->result->function_count; i++) {
        const struct profile_function *function = &finder->result->functions[i];
        if (!is_collective(finder, function->name))
            continue;
        if (is_scattered(finder, function) && find_arrival(finder, &function->by_rank, &arrival) &&
            arrival.is_equal)
            add_arrival(finder, finder_longest(finder, function->name), &function->calls, &arrival);
        else
            look_at_sites(finder, function);
    }
}
