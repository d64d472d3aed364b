/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: objects that are made again and again, and never freed. A profile counts calls, not
 * objects. That is enough: a rank that makes more objects of a kind than it frees leaks the
 * difference.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Kinds of objects ------------------------------------------------------------------------ */

static QMPIX_Role role_of(const char *function)
{
    return finder_traits(function).role;
}

static bool makes_types(const struct finder *finder, const char *function)
{
    (void)finder;
    return finder_traits(function).flags & QMPIX_TRAIT_CREATES &&
           !strncmp(function, "MPI_Type_", strlen("MPI_Type_"));
}

static bool frees_types(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_TYPE_FREE;
}

static bool makes_comms(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_COMM_CREATE;
}

/* Returns whether each call makes a communicator. Calls of other functions may return
 * MPI_COMM_NULL. */
static bool surely_makes_comms(const struct finder *finder, const char *function)
{
    static const char *const makers[] = {"_dup", "_idup", "Intercomm_", "_sub", "dist_graph"};
    bool is_sure = false;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        is_sure = is_sure || strcasestr(function, makers[i]);
    return is_sure && makes_comms(finder, function);
}

static bool frees_comms(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_COMM_FREE;
}

static bool makes_windows(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_WIN_CREATE;
}

static bool frees_windows(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_WIN_FREE;
}

static bool opens_files(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_FILE_OPEN;
}

static bool closes_files(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_FILE_CLOSE;
}

/* Requests that are not persistent are freed when their operation completes. */
static bool makes_requests(const struct finder *finder, const char *function)
{
    (void)finder;
    return finder_traits(function).flags & QMPIX_TRAIT_PERSISTENT;
}

static bool frees_requests(const struct finder *finder, const char *function)
{
    (void)finder;
    return role_of(function) == QMPIX_ROLE_REQUEST_FREE;
}

static const struct {
    const char *objects;
    finder_matcher *makes, *surely_makes, *frees;
    const char *made, *free, *freed; /* verbs */
    const char *advice;
} kinds[] = {
    {"datatypes", makes_types, makes_types, frees_types, "made", "free", "freed",
     "Free each datatype with MPI_Type_free, or make it once, before the loop, and reuse it."},
    {"communicators", makes_comms, surely_makes_comms, frees_comms, "made", "free", "freed",
     "Free each communicator with MPI_Comm_free, or make it once, before the loop, and reuse it. "
     "MPI libraries support a few thousand communicators at a time."},
    {"windows", makes_windows, makes_windows, frees_windows, "made", "free", "freed",
     "Free each window with MPI_Win_free, or make it once, before the loop, and reuse it."},
    {"files", opens_files, opens_files, closes_files, "opened", "close", "closed",
     "Close each file with MPI_File_close: data may be missing in the file until then."},
    {"persistent requests", makes_requests, makes_requests, frees_requests, "made", "free", "freed",
     "Free each request with MPI_Request_free, or make it once, before the loop, and start it "
     "again."},
};

/* ---- Leaks ----------------------------------------------------------------------------------- */

/* Leaks are found only if all calls of all ranks are known. */
static bool knows_all_calls(const struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].off > 0)
            return false;
    }
    return !result->termination && !result->is_filtered && !finder_count_missing(result);
}

/* The calls of the rank that leaks most. */
struct leak {
    int rank;
    uint64_t made, leaked;
};

static struct leak find_leak(const struct finder_rank_sum *made,
                             const struct finder_rank_sum *freed, int ranks)
{
    struct leak most = {-1, 0, 0};
    for (int i = 0; i < ranks; i++) {
        const uint64_t leaked = made[i].calls > freed[i].calls ? made[i].calls - freed[i].calls : 0;
        if (leaked > most.leaked)
            most = (struct leak){i, made[i].calls, leaked};
    }
    return most;
}

/* Returns a call site where the rank makes exactly as many objects as it leaks or, if there is
 * none, the one where most objects are made. */
static const struct profile_callsite *find_maker(const struct finder *finder, finder_matcher *makes,
                                                 const struct leak *leak)
{
    const struct profile_callsite *most = NULL;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        struct finder_ranks ranks;
        if (!makes(finder, site->name))
            continue;
        finder_ranks_of_site(finder, site, &ranks);
        const struct profile_rank_calls *it = finder_rank(&ranks, leak->rank);
        if (it && it->calls == leak->leaked)
            return site;
        if (!most || site->calls.calls > most->calls.calls)
            most = site;
    }
    return most;
}

static void add_leak(struct finder *finder, size_t kind, finder_matcher *makes,
                     const struct leak *leak)
{
    const struct profile_callsite *site = find_maker(finder, makes, leak);
    struct profile_finding *finding =
        site ? finder_add(finder, FINDING_LEAKED_OBJECTS, 0, leak->rank, site) : NULL;
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d does not %s %llu %s of %s %s at \1", leak->rank,
                     kinds[kind].free, (unsigned long long)leak->leaked, kinds[kind].objects,
                     site->name, kinds[kind].made);
    snprintf(
        finding->meaning, sizeof finding->meaning,
        "It has %s %llu %s, and %s %llu of them before MPI_Finalize. Most are %s in %s at this "
        "place. The memory that the process needs grows with each of them.",
        kinds[kind].made, (unsigned long long)leak->made, kinds[kind].objects, kinds[kind].freed,
        (unsigned long long)(leak->made - leak->leaked), kinds[kind].made, site->name);
    finding->advice = kinds[kind].advice;
}

static void examine_kind(struct finder *finder, size_t kind)
{
    enum { MANY = 10 };
    struct finder_rank_sum all, freed_by_all;
    struct finder_rank_sum *freed = finder_sum_ranks(finder, kinds[kind].frees, &freed_by_all);
    finder_matcher *makes = freed_by_all.calls ? kinds[kind].surely_makes : kinds[kind].makes;
    struct finder_rank_sum *made = finder_sum_ranks(finder, makes, &all);
    if (made && freed && all.calls > freed_by_all.calls) {
        const struct leak leak = find_leak(made, freed, finder_count_ranks(finder->result));
        if (leak.leaked >= MANY)
            add_leak(finder, kind, makes, &leak);
    }
    free(made);
    free(freed);
}

/* Leaks take no time, so their findings come last. */
void finder_rule_leaks(struct finder *finder)
{
    if (!knows_all_calls(finder->result))
        return;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        examine_kind(finder, kind);
}
