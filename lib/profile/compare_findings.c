/* SPDX-License-Identifier: MIT */
/* See compare_parts.h: which findings of one run are those of another. */
#define _GNU_SOURCE
#include "profile/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_SITE = -1 };

/* The entry of a finding's call site. */
static long find_site(const struct profile_comparison *comparison, int run,
                      const struct profile_finding *finding)
{
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    for (size_t i = 0; finding->site && i < sites->entry_count; i++) {
        if (sites->entries[i].sites[run] == finding->site)
            return (long)i;
    }
    return NO_SITE;
}

/* The same kind of problem at the same place. `rank`: also the same ranks. */
static bool is_same(const struct profile_comparison *comparison, const struct compare_finding *pair,
                    int run, const struct profile_finding *finding, bool rank)
{
    for (int other = 0; other < run; other++) {
        const struct profile_finding *it = pair->runs[other];
        if (it && !strcmp(it->kind, finding->kind) &&
            find_site(comparison, other, it) == find_site(comparison, run, finding) &&
            (!rank || (it->rank == finding->rank && it->peer == finding->peer)))
            return true;
    }
    return false;
}

static struct compare_finding *add_pair(struct profile_comparison *comparison)
{
    struct compare_finding *pairs =
        realloc(comparison->pairs, (comparison->pair_count + 1) * sizeof *pairs);
    if (!pairs)
        return NULL;
    comparison->pairs = pairs;
    struct compare_finding *pair = &pairs[comparison->pair_count];
    pair->runs = calloc((size_t)comparison->run_count, sizeof(void *));
    comparison->pair_count += pair->runs != NULL;
    return pair->runs ? pair : NULL;
}

/* Those of the same ranks first; a rank may change from run to run. */
static bool add_run(struct profile_comparison *comparison, int run)
{
    const struct profile_findings *found = &comparison->findings[run];
    bool placed[PROFILE_FINDINGS_MOST] = {false};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < found->count; i++) {
            for (size_t k = 0; k < comparison->pair_count && !placed[i]; k++) {
                struct compare_finding *pair = &comparison->pairs[k];
                placed[i] =
                    !pair->runs[run] && is_same(comparison, pair, run, &found->all[i], pass == 0);
                if (placed[i])
                    pair->runs[run] = &found->all[i];
            }
        }
    }
    for (int i = 0; i < found->count; i++) {
        if (placed[i])
            continue;
        struct compare_finding *pair = add_pair(comparison);
        if (!pair)
            return false;
        pair->runs[run] = &found->all[i];
    }
    return true;
}

static double seconds_of(const struct profile_finding *finding)
{
    return finding ? finding->seconds : 0;
}

static double change_of(const struct profile_comparison *comparison,
                        const struct compare_finding *pair)
{
    double most = 0;
    for (int run = 1; run < comparison->run_count; run++)
        most = fmax(most, fabs(seconds_of(pair->runs[run]) - seconds_of(pair->runs[0])));
    return most;
}

/* The largest change first. */
static int compare_pairs(const void *a, const void *b, void *comparison)
{
    const double mine = change_of(comparison, a), its = change_of(comparison, b);
    return (mine < its) - (mine > its);
}

bool compare_findings(struct profile_comparison *comparison)
{
    bool good = true;
    for (int run = 0; run < comparison->run_count && good; run++) {
        if (!profile_findings_find(comparison->runs[run].result, &comparison->findings[run]))
            comparison->findings[run].count = 0;
        good = add_run(comparison, run);
    }
    if (good && comparison->pair_count > 1)
        qsort_r(comparison->pairs, comparison->pair_count, sizeof *comparison->pairs, compare_pairs,
                comparison);
    return good;
}
