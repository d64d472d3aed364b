/* SPDX-License-Identifier: MIT */
/*
 * See compare_parts.h: call sites. Lines move when a program is edited, and offsets when it is
 * built, so that call sites of the same MPI function match by the functions that called it, and by
 * the lines only if they must be told apart.
 */
#define _GNU_SOURCE
#include "profile/compare_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- Chains of callers ----------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

/* How long the name is without what the compiler added to that of a copy, such as ".part.0". */
static int name_length(const char *function)
{
    static const char *const suffixes[] = {".part.", ".isra.", ".constprop.", ".cold"};
    size_t length = strlen(function);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *at = strstr(function, suffixes[i]);
        if (at && at > function && (size_t)(at - function) < length)
            length = (size_t)(at - function);
    }
    return (int)length;
}

/* A frame without a function is known by its offset alone. */
static int compare_functions(const struct profile_frame *a, const struct profile_frame *b)
{
    if (!a->function || !b->function) {
        if (a->function || b->function)
            return a->function ? 1 : -1;
        const int order = strcmp(base_name(a->module), base_name(b->module));
        return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
    }
    const int mine = name_length(a->function), its = name_length(b->function);
    const int order =
        mine != its ? (mine > its) - (mine < its) : strncmp(a->function, b->function, (size_t)mine);
    return order ? order : strcmp(base_name(a->file), base_name(b->file));
}

static int compare_chains(const struct profile_callsite *a, const struct profile_callsite *b)
{
    int order = strcmp(a->name, b->name);
    if (!order && a->frame_count != b->frame_count)
        return a->frame_count > b->frame_count ? 1 : -1;
    for (int i = 0; i < a->frame_count && !order; i++)
        order = compare_functions(&a->frames[i], &b->frames[i]);
    return order;
}

/* Outer lines first: a call stays where it is when lines are added above it. */
static int compare_lines(const struct profile_callsite *a, const struct profile_callsite *b)
{
    for (int i = a->frame_count - 1; i >= 0; i--) {
        const struct profile_frame *mine = &a->frames[i], *its = &b->frames[i];
        if (mine->line != its->line)
            return mine->line > its->line ? 1 : -1;
        if (!mine->line && mine->offset != its->offset)
            return mine->offset > its->offset ? 1 : -1;
    }
    return 0;
}

/* ---- Matching -------------------------------------------------------------------------------- */

/* A call site of a run, or the one that stands for an entry. */
struct place {
    const struct profile_callsite *site;
    size_t entry; /* of the table */
    bool matched;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *mine = a, *its = b;
    const int order = compare_chains(mine->site, its->site);
    return order ? order : compare_lines(mine->site, its->site);
}

static size_t count_chain(const struct place *places, size_t count)
{
    size_t same = 0;
    while (same < count && !compare_chains(places->site, places[same].site))
        same++;
    return same;
}

/* Sites with one chain in a run: as many as there are entries are these, in the order of their
 * lines. Otherwise, only those at the same lines match. */
static void match_chain(struct place *old, size_t old_count, struct place *new, size_t new_count)
{
    for (size_t i = 0, k = 0; i < old_count && k < new_count;) {
        const int order = old_count == new_count ? 0 : compare_lines(old[i].site, new[k].site);
        if (!order) {
            new[k].entry = old[i].entry;
            new[k].matched = old[i].matched = true;
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* Both are sorted. */
static void match(struct place *old, size_t old_count, struct place *new, size_t new_count)
{
    while (old_count && new_count) {
        const int order = compare_chains(old->site, new->site);
        const size_t old_same = order <= 0 ? count_chain(old, old_count) : 0;
        const size_t new_same = order >= 0 ? count_chain(new, new_count) : 0;
        if (!order)
            match_chain(old, old_same, new, new_same);
        old += old_same;
        old_count -= old_same;
        new += new_same;
        new_count -= new_same;
    }
}

/* The call site of the last run that has it: its lines are nearest to those of the next run. */
static const struct profile_callsite *latest(const struct profile_comparison *comparison,
                                             const struct compare_entry *entry)
{
    int run = comparison->run_count - 1;
    while (run > 0 && !entry->sites[run])
        run--;
    return entry->sites[run];
}

static bool add_run(struct profile_comparison *comparison, int run, struct place *new)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->callsite_count && good; i++) {
        const struct profile_callsite *site = new[i].site;
        struct compare_entry *entry =
            new[i].matched ? &comparison->tables[COMPARE_CALLSITES].entries[new[i].entry]
                           : compare_add(comparison, COMPARE_CALLSITES, site->name, -1, -1);
        good = entry != NULL;
        if (!good)
            break;
        entry->sites[run] = site;
        compare_set_calls(comparison, COMPARE_CALLSITES, entry, run, &site->calls, site->ranks);
    }
    return good;
}

static void sort(struct place *places, size_t count)
{
    if (count > 1)
        qsort(places, count, sizeof *places, compare_places);
}

bool compare_sites(struct profile_comparison *comparison)
{
    bool good = true;
    for (int run = 0; run < comparison->run_count && good; run++) {
        const struct profile_result *result = comparison->runs[run].result;
        const struct compare_table *table = &comparison->tables[COMPARE_CALLSITES];
        const size_t old_count = table->entry_count, new_count = result->callsite_count;
        struct place *places = calloc(old_count + new_count + 1, sizeof *places);
        if (!places)
            return false;
        for (size_t i = 0; i < old_count; i++)
            places[i] = (struct place){latest(comparison, &table->entries[i]), i, false};
        for (size_t i = 0; i < new_count; i++)
            places[old_count + i].site = &result->callsites[i];
        sort(places, old_count);
        sort(places + old_count, new_count);
        match(places, old_count, places + old_count, new_count);
        good = add_run(comparison, run, places + old_count);
        free(places);
    }
    return good;
}
