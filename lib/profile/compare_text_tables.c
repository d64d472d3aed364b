/* SPDX-License-Identifier: MIT */
/* See compare_text_parts.h: the tables of functions, call sites, ranks, waits and regions. */
#define _GNU_SOURCE
#include "profile/columns.h"
#include "profile/compare_print.h"
#include "profile/compare_text_parts.h"
#include "profile/units.h"

#include <stdlib.h>
#include <string.h>

/* How a table is printed. */
struct style {
    enum compare_kind kind;
    const char *figure;
    const char *title, *heading, *what;
    bool changed; /* only what has changed at all; otherwise, changes that are small are left out */
};

struct listed {
    const struct compare_entry *entry;
    double change;
};

static int compare_names(const struct listed *a, const struct listed *b)
{
    const int order = strcmp(a->entry->name, b->entry->name);
    return order ? order : (a->entry->rank > b->entry->rank) - (a->entry->rank < b->entry->rank);
}

static int compare_listed(const void *a, const void *b, void *order)
{
    const struct listed *mine = a, *its = b;
    if (*(enum profile_sort *)order != PROFILE_BY_NAME && mine->change != its->change)
        return mine->change < its->change ? 1 : -1;
    return compare_names(mine, its);
}

static bool is_new_or_gone(const struct profile_comparison *comparison,
                           const struct compare_entry *entry)
{
    return !entry->has[0] || !entry->has[comparison->run_count - 1];
}

/* The smallest change in time that is printed. */
static double least_change(const struct compare_view *view)
{
    const struct profile_comparison *comparison = view->comparison;
    return view->text.top ? PROFILE_COMPARE_LEAST * comparison->runs->result->application.max : 0;
}

/* The entries that are printed, in their order. NULL: memory is exhausted. */
static struct listed *list(const struct compare_view *view, const struct style *style, int figure,
                           size_t *count)
{
    static const char *const orders[] = {
        [PROFILE_BY_TIME] = "time", [PROFILE_BY_CALLS] = "calls", [PROFILE_BY_BYTES] = "bytes"};
    const struct compare_table *table = &view->comparison->tables[style->kind];
    enum profile_sort order = view->order;
    const int sorted = style->changed || order == PROFILE_BY_NAME
                           ? figure
                           : compare_figure_find(table, orders[order]);
    struct listed *all = calloc(table->entry_count + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; all && i < table->entry_count; i++) {
        const struct compare_entry *entry = &table->entries[i];
        const double change = compare_change(view->comparison, entry, figure);
        const bool is_listed = style->changed ? change > 0
                                              : change >= least_change(view) ||
                                                    is_new_or_gone(view->comparison, entry);
        if (is_listed)
            all[(*count)++] = (struct listed){
                entry, compare_change(view->comparison, entry, sorted < 0 ? figure : sorted)};
    }
    if (all && *count)
        qsort_r(all, *count, sizeof *all, compare_listed, &order);
    return all;
}

/* The lines of the last run that has it: they are those of today's source. */
static const struct profile_callsite *last_site(const struct profile_comparison *comparison,
                                                const struct compare_entry *entry)
{
    int run = comparison->run_count - 1;
    while (run > 0 && !entry->sites[run])
        run--;
    return entry->sites[run];
}

static void add_name(struct columns *columns, const struct style *style,
                     const struct compare_entry *entry)
{
    char peer[16] = "?";
    if (entry->peer >= 0)
        snprintf(peer, sizeof peer, "%d", entry->peer);
    if (style->kind == COMPARE_RANKS)
        columns_add(columns, "%d", entry->rank);
    else if (style->kind == COMPARE_WAITS)
        columns_add(columns, "%s, %d for %s", entry->name, entry->rank, peer);
    else
        columns_add(columns, "%s", entry->name);
}

static void add_frames(struct columns *columns, const struct compare_view *view,
                       const struct style *style, const struct compare_entry *entry)
{
    const struct compare_table *sites = &view->comparison->tables[COMPARE_CALLSITES];
    if (style->kind == COMPARE_WAITS)
        entry = &sites->entries[entry->site];
    if (!entry->sites)
        return;
    const struct profile_callsite *site = last_site(view->comparison, entry);
    text_note_frames(columns, &view->text, site->frames, site->frame_count);
}

/* Says what is not in the table. */
static void print_rest(const struct compare_view *view, const struct style *style, size_t count)
{
    const size_t small = view->comparison->tables[style->kind].entry_count - count;
    text_rest(&view->text, count, style->what);
    if (small && !style->changed)
        fprintf(view->text.stream, "(%zu more change%s by less than %s, %g %% of the run)\n", small,
                small == 1 ? "s" : "", units_time(least_change(view)), 100 * PROFILE_COMPARE_LEAST);
}

static bool print_table(const struct compare_view *view, const struct style *style)
{
    const struct compare_table *table = &view->comparison->tables[style->kind];
    const int figure = compare_figure_find(table, style->figure);
    size_t count;
    struct columns columns;
    struct listed *all = list(view, style, figure, &count);
    if (!all || !table->entry_count || (style->changed && !count)) {
        free(all);
        return all != NULL;
    }
    fprintf(view->text.stream, "\n%s\n", style->title);
    compare_columns_start(&columns, view->comparison, style->heading);
    for (size_t i = 0; i < text_shown(&view->text, count); i++) {
        add_name(&columns, style, all[i].entry);
        compare_columns_add(&columns, view->comparison, all[i].entry, figure,
                            table->figures[figure].unit);
        add_frames(&columns, view, style, all[i].entry);
    }
    bool good = columns.good;
    if (count)
        good = columns_print(&columns, view->text.stream, view->text.width);
    else
        columns_drop(&columns);
    print_rest(view, style, count);
    free(all);
    return good;
}

bool compare_print_tables(const struct compare_view *view, unsigned sections)
{
    static const struct {
        unsigned section;
        struct style style;
    } tables[] = {
        {PROFILE_FUNCTIONS,
         {COMPARE_FUNCTIONS, "time", "Functions: time of the mean rank", "function", "functions",
          false}},
        {PROFILE_FUNCTIONS,
         {COMPARE_FUNCTIONS, "calls", "Functions with other numbers of calls, all ranks",
          "function", "functions", true}},
        {PROFILE_FUNCTIONS,
         {COMPARE_FUNCTIONS, "bytes", "Functions with other numbers of bytes, all ranks",
          "function", "functions", true}},
        {PROFILE_CALLSITES,
         {COMPARE_CALLSITES, "time", "Call sites: time of the mean rank", "call site", "call sites",
          false}},
        {PROFILE_WAITS,
         {COMPARE_WAITS, "time", "Waiting for a peer in point-to-point calls", "call site, rank",
          "waits", false}},
        {PROFILE_REGIONS,
         {COMPARE_REGIONS, "time", "Regions: time of the mean rank", "region", "regions", false}},
        {PROFILE_REGIONS,
         {COMPARE_REGIONS, "parallel", "Regions: parallel efficiency", "region", "regions", true}},
        {PROFILE_PROCESSES,
         {COMPARE_RANKS, "useful", "Ranks: time outside MPI", "rank", "ranks", false}},
        {PROFILE_PROCESSES, {COMPARE_RANKS, "mpi", "Ranks: time in MPI", "rank", "ranks", false}},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && good; i++) {
        if (sections & tables[i].section)
            good = print_table(view, &tables[i].style);
    }
    return good;
}
