/* SPDX-License-Identifier: MIT */
/* See findings_parts.h: one rank that works while all others wait, at the start of the run. */
#define _GNU_SOURCE
#include "profile/findings_parts.h"
#include "profile/units.h"
#include "profile/windows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Windows in which one rank works and all others wait. */
struct phase {
    int rank;
    size_t first, end;
    double seconds; /* for which all others wait */
};

enum { NONE = -1, GAP_MOST = 2 };

/* The rank that works while all others wait. NONE: there is none, or a rank is not profiled. */
static int find_worker(const struct profile_windows *windows, size_t number)
{
    int worker = NONE;
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window_rank *rank = &windows->ranks[i];
        const struct profile_window it = profile_window_get(windows, rank, number);
        const bool works = it.mpi <= 0.5 * it.profiled;
        if (!(it.profiled > 0) || (!works && it.mpi < 0.8 * it.profiled) ||
            (works && worker != NONE))
            return NONE;
        worker = works ? rank->rank : worker;
    }
    return worker;
}

/* For how long all ranks but one wait in a window, while that one does not. */
static double find_wait(const struct profile_windows *windows, size_t number, int worker)
{
    double least = windows->width, its = 0;
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window it = profile_window_get(windows, &windows->ranks[i], number);
        if (windows->ranks[i].rank == worker)
            its = it.mpi;
        else
            least = fmin(least, it.mpi);
    }
    return fmax(least - its, 0);
}

/* The first phase from a window on; short interruptions are part of it. False: there is none. */
static bool find_phase(const struct profile_windows *windows, size_t from, struct phase *phase)
{
    const size_t count = profile_windows_count(windows);
    *phase = (struct phase){.rank = NONE};
    for (size_t i = from; i < count; i++) {
        const int worker = find_worker(windows, i);
        if (phase->rank == NONE && worker != NONE) {
            phase->rank = worker;
            phase->first = i;
        }
        if (phase->rank != NONE && worker == phase->rank)
            phase->end = i + 1;
        else if (phase->rank != NONE && i - phase->end >= GAP_MOST)
            break;
    }
    if (phase->rank == NONE)
        return false;
    const size_t first = phase->first > from ? phase->first - 1 : phase->first;
    for (size_t i = first; i <= phase->end && i < count; i++)
        phase->seconds += find_wait(windows, i, phase->rank);
    return true;
}

/* Whether the others work later on, and the rank is not alone for about as long again: else it is
 * how the whole run goes. */
static bool is_at_start(const struct finder *finder, const struct phase *phase)
{
    const struct profile_windows *windows = &finder->result->windows;
    const size_t count = profile_windows_count(windows);
    double useful = 0, profiled = 0;
    struct phase later = *phase;
    if ((double)phase->first * windows->width > fmax(0.05 * finder->elapsed, 2 * windows->width))
        return false;
    while (find_phase(windows, later.end, &later)) {
        if (later.rank == phase->rank && later.seconds > 0.5 * phase->seconds)
            return false;
    }
    for (size_t i = 0; i < windows->rank_count; i++) {
        for (size_t number = phase->end; number < count; number++) {
            const struct profile_window it =
                profile_window_get(windows, &windows->ranks[i], number);
            if (windows->ranks[i].rank != phase->rank) {
                useful += it.profiled - it.mpi;
                profiled += it.profiled;
            }
        }
    }
    return useful > 0.1 * profiled && useful > 0.1 * phase->seconds;
}

/* What a rank that waits spends at a call site, at most. */
static double find_time(const struct profile_callsite *site, int worker)
{
    double most = 0;
    for (size_t i = 0; i < site->by_rank.count; i++) {
        const struct profile_rank_calls *it = &site->by_rank.all[i];
        if (it->rank != worker)
            most = fmax(most, it->time + it->wait);
    }
    return most;
}

/* The call site where the others wait, most of the time in one call: those that wait again and
 * again are waiting for each step of the work. MPI_Init comes before it. NULL: there is none. */
static const struct profile_callsite *find_site(const struct finder *finder,
                                                const struct phase *phase)
{
    const struct profile_callsite *found = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const double longest = fmax(site->calls.longest, site->calls.wait.max);
        const double apart = fabs(longest - phase->seconds);
        if (strncmp(site->name, "MPI_Init", strlen("MPI_Init")) != 0 && apart < least &&
            longest > 0.5 * phase->seconds &&
            find_time(site, phase->rank) >= 0.5 * phase->seconds) {
            found = site;
            least = apart;
        }
    }
    return found;
}

static void describe(const struct finder *finder, struct profile_finding *finding)
{
    const bool is_pair = finder->result->ranks == 2;
    finder_summarize(finding, "Rank %d works alone\2 at first\3, %s; others wait at \1",
                     finding->rank, finder_amount(finder, finding->seconds));
    snprintf(finding->meaning, sizeof finding->meaning,
             "After MPI_Init, %s in %s until rank %d has done its work. Later, %s as well.",
             is_pair ? "the other rank waits" : "all other ranks wait", finding->site->name,
             finding->rank, is_pair ? "it computes" : "they compute");
    finding->advice = "Distribute the work at the start: let each rank read or compute the part "
                      "that it needs, with collective MPI-IO if it is read from a file.";
}

void findings_startup(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    struct phase phase;
    finder->startup = (struct finder_startup){.rank = NONE};
    if (result->ranks < 2 || result->windows.rank_count != (size_t)result->ranks ||
        !find_phase(&result->windows, 0, &phase) || phase.seconds < finder->least ||
        !is_at_start(finder, &phase))
        return;
    const struct profile_callsite *site = find_site(finder, &phase);
    struct profile_finding *finding =
        site ? finder_add(finder, "serial-startup", phase.seconds, phase.rank, site) : NULL;
    if (!finding)
        return;
    finder->startup = (struct finder_startup){site, phase.rank, phase.seconds};
    describe(finder, finding);
}

/* What a rank spends at a call site. */
static double find_time_of(const struct profile_callsite *site, int rank)
{
    for (size_t i = 0; i < site->by_rank.count; i++) {
        if (site->by_rank.all[i].rank == rank)
            return site->by_rank.all[i].time + site->by_rank.all[i].wait;
    }
    return 0;
}

double finder_subtract_startup(const struct finder *finder, const struct profile_callsite *site,
                               struct finder_wait wait)
{
    const struct finder_startup *startup = &finder->startup;
    if (wait.cause == NONE || startup->rank != wait.cause)
        return wait.seconds;
    if (startup->site == site)
        return fmax(wait.seconds - startup->seconds, 0);
    const double rest = startup->seconds - find_time_of(startup->site, wait.rank);
    return wait.seconds > 0.5 * rest && wait.seconds < 1.1 * rest ? 0 : wait.seconds;
}
