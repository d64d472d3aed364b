/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: in which region, and during which part of the run, the time of a finding is lost. A
 * result contains the time of functions by region, and the time in MPI by window, but it contains
 * the time of call sites by neither of them. Therefore, all calls from other sites are assumed to
 * be in the region, or in the windows. Only the time that exceeds theirs is certainly spent at the
 * call site.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A region or some windows are named if they contain at least the part MOST_IN_... of the time of a
 * call site, and last for at most the part LONGEST_... of the run. */
#define MOST_IN_REGION 0.8
#define LONGEST_REGION 0.9
#define MOST_IN_WINDOWS 0.8
#define LONGEST_WINDOWS 0.5

/* ---- Regions --------------------------------------------------------------------------------- */

static double time_of(const struct profile_function *functions, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(functions[i].name, name))
            return functions[i].calls.time.sum + functions[i].calls.wait.sum;
    }
    return 0;
}

/* Returns the name of the shortest region that contains most of the time of a call site, or NULL if
 * there is none. */
static const char *find_region(const struct finder *finder, const struct profile_callsite *site)
{
    const struct profile_result *result = finder->result;
    const double its = site->calls.time.sum + site->calls.wait.sum;
    const double all = time_of(result->functions, result->function_count, site->name);
    const struct profile_region *found = NULL;
    for (size_t i = 0; i < result->region_count; i++) {
        const struct profile_region *region = &result->regions[i];
        const double inside = time_of(region->functions, region->function_count, site->name);
        if (inside - (all - its) >= MOST_IN_REGION * its &&
            region->time.sum <= LONGEST_REGION * result->application.sum &&
            (!found || region->time.sum < found->time.sum))
            found = region;
    }
    return found ? found->name : NULL;
}

/* ---- Windows --------------------------------------------------------------------------------- */

static double mpi_in(const struct profile_windows *windows, const struct profile_window_rank *rank,
                     size_t first, size_t end)
{
    double mpi = 0;
    for (size_t i = first; i < end; i++)
        mpi += profile_window_get(windows, rank, i).mpi;
    return mpi;
}

/* Finds the smallest number of consecutive windows in which a rank spends at least `seconds` in
 * MPI: those from *first to before *end. If there are none, these are all windows. */
static void find_shortest(const struct profile_windows *windows,
                          const struct profile_window_rank *rank, double seconds, size_t *first,
                          size_t *end)
{
    double mpi = 0;
    *first = 0;
    *end = rank->count;
    for (size_t from = 0, to = 0; to < rank->count;) {
        mpi += profile_window_get(windows, rank, to++).mpi;
        for (; mpi >= seconds && from < to; from++) {
            if (to - from < *end - *first) {
                *first = from;
                *end = to;
            }
            mpi -= profile_window_get(windows, rank, from).mpi;
        }
    }
}

/* Finds the rank that spends most time at the call site. Sets `begin` and `end` of the finding to
 * the shortest part of the run that contains most of this time, unless this part is long or the
 * rank was not profiled for some time. */
static void find_windows(const struct finder *finder, struct profile_finding *finding)
{
    const struct profile_windows *windows = &finder->result->windows;
    int rank;
    const double its = finder_longest_rank(finder, finding->site, &rank);
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window_rank *it = &windows->ranks[i];
        if (it->rank != rank || !(its > 0) || finder_off(finder, rank) > 0)
            continue;
        const double others = fmax(mpi_in(windows, it, 0, it->count) - its, 0);
        size_t first, end;
        find_shortest(windows, it, MOST_IN_WINDOWS * its + others, &first, &end);
        if ((double)(end - first) * windows->width > LONGEST_WINDOWS * finder->elapsed)
            return;
        finding->begin = (double)first * windows->width;
        finding->end = fmin((double)end * windows->width, finder->elapsed);
    }
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void describe(struct profile_finding *finding)
{
    const size_t length = strlen(finding->meaning);
    char region[96] = "", windows[96] = "";
    if (finding->region)
        snprintf(region, sizeof region, " in region \"%.64s\"", finding->region);
    if (finding->end > 0)
        snprintf(windows, sizeof windows, " from %s to %s after MPI_Init",
                 units_time(finding->begin), units_time(finding->end));
    if (*region || *windows)
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " Most of the loss is%s%s%s.", region, *region && *windows ? "," : "", windows);
}

void finder_rule_where(struct finder *finder)
{
    for (int i = 0; i < finder->count; i++) {
        struct profile_finding *finding = &finder->found[i];
        if (!finding->site || !profile_finding_is(finding, FINDING_HAS_PLACE))
            continue;
        finding->region = find_region(finder, finding->site);
        find_windows(finder, finding);
        describe(finding);
    }
}
