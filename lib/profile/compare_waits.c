/* SPDX-License-Identifier: MIT */
/* See compare_parts.h: for how long ranks waited for others, by call site. */
#include "profile/compare_parts.h"

#include <math.h>
#include <stdlib.h>

/* A wait of a run. */
struct wait {
    size_t site;
    int run;
    const struct profile_wait *it;
};

static int compare_things(const struct wait *a, const struct wait *b)
{
    if (a->site != b->site)
        return a->site > b->site ? 1 : -1;
    if (a->it->rank != b->it->rank)
        return a->it->rank > b->it->rank ? 1 : -1;
    return (a->it->peer > b->it->peer) - (a->it->peer < b->it->peer);
}

static int compare_all(const void *a, const void *b)
{
    const struct wait *mine = a, *its = b;
    const int order = compare_things(mine, its);
    return order ? order : (mine->run > its->run) - (mine->run < its->run);
}

/* Files of versions that did not measure waits do not have the number of calling ranks either. */
static bool knows_waits(const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        if (result->functions[i].ranks)
            return true;
    }
    return !result->function_count;
}

/* All waits at call sites, if `all` is not NULL. Returns how many there are. */
static size_t list(const struct profile_comparison *comparison, struct wait *all)
{
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    size_t count = 0;
    for (size_t site = 0; site < sites->entry_count; site++) {
        for (int run = 0; run < comparison->run_count; run++) {
            const struct profile_callsite *it = sites->entries[site].sites[run];
            for (size_t i = 0; it && i < it->waits.count; i++, count++) {
                if (all)
                    all[count] = (struct wait){site, run, &it->waits.all[i]};
            }
        }
    }
    return count;
}

static bool add_waits(struct profile_comparison *comparison, const struct wait *all, size_t count,
                      const bool *known)
{
    const struct compare_table *table = &comparison->tables[COMPARE_WAITS];
    struct compare_entry *entry = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct profile_wait *it = all[i].it;
        const double values[] = {it->time, (double)it->calls};
        if (!i || compare_things(&all[i - 1], &all[i])) {
            const char *name = comparison->tables[COMPARE_CALLSITES].entries[all[i].site].name;
            entry = compare_add(comparison, COMPARE_WAITS, name, it->rank, it->peer);
            if (!entry)
                return false;
            entry->site = all[i].site;
            for (int k = 0; k < comparison->run_count * table->figure_count; k++)
                entry->values[k] = known[k % comparison->run_count] ? 0 : NAN;
        }
        compare_set(comparison, COMPARE_WAITS, entry, all[i].run, values);
    }
    return true;
}

bool compare_waits(struct profile_comparison *comparison)
{
    const size_t count = list(comparison, NULL);
    struct wait *all = calloc(count + 1, sizeof *all);
    bool *known = calloc((size_t)comparison->run_count, sizeof *known);
    bool good = all && known;
    for (int run = 0; run < comparison->run_count && good; run++)
        known[run] = knows_waits(comparison->runs[run].result);
    if (good && list(comparison, all))
        qsort(all, count, sizeof *all, compare_all);
    good = good && add_waits(comparison, all, count, known);
    free(all);
    free(known);
    if (good)
        compare_sort(comparison, COMPARE_WAITS);
    return good;
}
