/* SPDX-License-Identifier: MIT */
/* See comparison.h: entries of tables. */
#define _GNU_SOURCE
#include "profile/comparison.h"

#include "profile/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compare_entry *compare_add(struct profile_comparison *comparison, enum compare_kind kind,
                                  const char *name, int rank, int peer)
{
    struct compare_table *table = &comparison->tables[kind];
    const size_t runs = (size_t)comparison->run_count;
    if (table->entry_count == table->entry_space) {
        const size_t space = table->entry_space ? 2 * table->entry_space : 32;
        void *entries = realloc(table->entries, space * sizeof *table->entries);
        if (!entries)
            return NULL;
        table->entries = entries;
        table->entry_space = space;
    }
    struct compare_entry *entry = &table->entries[table->entry_count];
    *entry = (struct compare_entry){.name = name, .rank = rank, .peer = peer};
    entry->has = calloc(runs, sizeof *entry->has);
    entry->values = calloc(runs * (size_t)table->figure_count, sizeof *entry->values);
    entry->sites = kind == COMPARE_CALLSITES ? calloc(runs, sizeof(void *)) : NULL;
    table->entry_count++; /* it is freed with the others */
    return entry->has && entry->values && (entry->sites || kind != COMPARE_CALLSITES) ? entry
                                                                                      : NULL;
}

void compare_set(const struct profile_comparison *comparison, enum compare_kind kind,
                 struct compare_entry *entry, int run, const double *values)
{
    entry->has[run] = true;
    for (int i = 0; i < comparison->tables[kind].figure_count; i++)
        entry->values[i * comparison->run_count + run] = values[i];
}

double compare_value(const struct profile_comparison *comparison, const struct compare_entry *entry,
                     int figure, int run)
{
    return entry->values[figure * comparison->run_count + run];
}

double compare_change(const struct profile_comparison *comparison,
                      const struct compare_entry *entry, int figure)
{
    const double base = compare_value(comparison, entry, figure, 0);
    double most = 0;
    for (int run = 1; run < comparison->run_count; run++)
        most = fmax(most, fabs(compare_value(comparison, entry, figure, run) - base));
    return most; /* fmax ignores NAN */
}

static int compare_changes(const void *a, const void *b, void *comparison)
{
    const struct compare_entry *mine = a, *its = b;
    const double my_change = compare_change(comparison, mine, 0);
    const double its_change = compare_change(comparison, its, 0);
    if (my_change != its_change)
        return my_change < its_change ? 1 : -1;
    const int order = strcmp(mine->name, its->name);
    return order                     ? order
           : mine->rank != its->rank ? (mine->rank > its->rank) - (mine->rank < its->rank)
                                     : (mine->peer > its->peer) - (mine->peer < its->peer);
}

void compare_sort(struct profile_comparison *comparison, enum compare_kind kind)
{
    struct compare_table *table = &comparison->tables[kind];
    if (table->entry_count > 1)
        qsort_r(table->entries, table->entry_count, sizeof *table->entries, compare_changes,
                comparison);
}

int compare_figure_find(const struct compare_table *table, const char *name)
{
    for (int i = 0; i < table->figure_count; i++) {
        if (!strcmp(table->figures[i].name, name))
            return i;
    }
    return -1;
}

/* ---- All of it ------------------------------------------------------------------------------- */

struct profile_comparison *profile_compare(const struct profile_named *runs, int count)
{
    struct profile_comparison *comparison = calloc(1, sizeof *comparison);
    if (!comparison)
        return NULL;
    comparison->run_count = count;
    comparison->same_ranks = true;
    comparison->runs = calloc((size_t)count, sizeof *comparison->runs);
    comparison->findings = calloc((size_t)count, sizeof *comparison->findings);
    compare_start(comparison);
    bool good = comparison->runs && comparison->findings;
    for (int i = 0; i < count && good; i++) {
        comparison->runs[i] = runs[i];
        comparison->same_ranks =
            comparison->same_ranks && runs[i].result->ranks == runs->result->ranks;
    }
    if (good && compare_fill(comparison))
        return comparison;
    profile_comparison_free(comparison);
    return NULL;
}

void profile_comparison_free(struct profile_comparison *comparison)
{
    if (!comparison)
        return;
    for (int kind = 0; kind < COMPARE_TABLES; kind++) {
        struct compare_table *table = &comparison->tables[kind];
        for (size_t i = 0; i < table->entry_count; i++) {
            free(table->entries[i].sites);
            free(table->entries[i].has);
            free(table->entries[i].values);
        }
        free(table->entries);
    }
    for (size_t i = 0; i < comparison->pair_count; i++)
        free(comparison->pairs[i].runs);
    free(comparison->pairs);
    free(comparison->findings);
    free(comparison->runs);
    free(comparison);
}
