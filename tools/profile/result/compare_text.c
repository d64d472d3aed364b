/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: a comparison as text. Its tables have a column for each run, and columns for the
 * difference and the ratio of each later run to the base. Headings name runs by letters: A is the
 * base.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"

#include "tools/profile/result/columns.h"
#include "tools/profile/result/text_tables.h"
#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A comparison that is printed. */
struct view {
    struct text text; /* without a result */
    const struct compare_result *comparison;
    enum profile_sort order;
};

/* ---- Columns --------------------------------------------------------------------------------- */

/* With more runs than this, tables have no columns for differences. */
enum { RUNS_WITH_DIFFERENCES = 3 };

static bool has_differences(const struct compare_result *comparison)
{
    return comparison->run_count <= RUNS_WITH_DIFFERENCES;
}

static const char *fill_marks(char *at, char with, int count)
{
    memset(at, with, (size_t)count);
    return at + count;
}

/* If the columns of more than two runs do not fit, the differences are left out first, then the
 * ratios. */
static void start_columns(struct columns *columns, int runs, bool differences)
{
    static _Thread_local char align[COLUMNS_MOST + 1], optional[COLUMNS_MOST + 1];
    const int later = runs - 1, amounts = differences ? later : 0;
    memset(align, 'r', sizeof align);
    memset(optional, '.', sizeof optional);
    align[0] = 'l';
    if (runs > 2) {
        fill_marks(&optional[1 + runs], '1', amounts);
        fill_marks(&optional[1 + runs + amounts], '2', later);
    }
    const int last = 1 + runs + amounts + later;
    align[last] = 'l';
    align[last + 1] = optional[last + 1] = '\0';
    columns_start(columns, align);
    columns_set_optional(columns, optional);
}

static void start_run_columns(struct columns *columns, const struct compare_result *comparison,
                              const char *heading)
{
    const int runs = comparison->run_count;
    const bool differences = has_differences(comparison);
    start_columns(columns, runs, differences);
    columns_add(columns, "%s", heading);
    for (int run = 0; run < runs; run++)
        columns_add(columns, "%c", 'A' + run);
    for (int run = 1; run < runs && differences; run++)
        columns_add(columns, "%c - A", 'A' + run);
    for (int run = 1; run < runs; run++)
        columns_add(columns, "%c / A", 'A' + run);
    columns_add(columns, "%s", "");
}

static void add_value_cell(struct columns *columns, enum compare_unit unit, double value,
                           bool is_difference)
{
    const char *plus = is_difference && value > 0 ? "+" : "";
    if (isnan(value))
        columns_add(columns, "-");
    else if (unit == COMPARE_COUNT)
        columns_add(columns, "%s%.0f", plus, value);
    else if (unit == COMPARE_RATIO)
        columns_add(columns, "%s%.3f", plus, value);
    else
        columns_add(columns, "%s%s", plus,
                    unit == COMPARE_BYTES ? units_bytes(value) : units_time(value));
}

static void add_ratio_cell(struct columns *columns, double base, double value)
{
    if (base > 0 && !isnan(value))
        columns_add(columns, "%.*f", value / base < 99.95 ? 2 : 0, value / base);
    else
        columns_add(columns, "-");
}

static const char *describe_presence(const struct compare_result *comparison,
                                     const struct compare_entry *entry)
{
    return !entry->has[0] ? "new" : !entry->has[comparison->run_count - 1] ? "gone" : "";
}

static void add_run_columns(struct columns *columns, const struct compare_result *comparison,
                            const struct compare_entry *entry, int figure, enum compare_unit unit)
{
    const int runs = comparison->run_count;
    const double base = compare_value(comparison, entry, figure, 0);
    for (int run = 0; run < runs; run++) {
        const double value = compare_value(comparison, entry, figure, run);
        add_value_cell(columns, unit, entry->has[run] ? value : NAN, false);
    }
    for (int run = 1; run < runs && has_differences(comparison); run++)
        add_value_cell(columns, unit, compare_value(comparison, entry, figure, run) - base, true);
    for (int run = 1; run < runs; run++)
        add_ratio_cell(columns, base, compare_value(comparison, entry, figure, run));
    columns_add(columns, "%s", describe_presence(comparison, entry));
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The way in which a table is printed. `what` is a noun in the plural for its entries. */
struct style {
    enum compare_kind kind;
    const char *figure;
    const char *title, *heading, *what;
    bool changed; /* print only entries that have changed; otherwise, all except small changes */
};

struct listed {
    const struct compare_entry *entry;
    double change;
};

static int compare_listed_names(const struct listed *a, const struct listed *b)
{
    const int order = strcmp(a->entry->name, b->entry->name);
    return order ? order : (a->entry->rank > b->entry->rank) - (a->entry->rank < b->entry->rank);
}

static int compare_listed(const void *a, const void *b, void *order)
{
    const struct listed *mine = a, *its = b;
    if (*(enum profile_sort *)order != PROFILE_BY_NAME && mine->change != its->change)
        return mine->change < its->change ? 1 : -1;
    return compare_listed_names(mine, its);
}

static bool is_new_or_gone(const struct compare_result *comparison,
                           const struct compare_entry *entry)
{
    return !entry->has[0] || !entry->has[comparison->run_count - 1];
}

/* Returns the smallest change in time that is printed. An entry that is new or gone is printed even
 * if its change is smaller. */
static double least_change(const struct view *view)
{
    const struct compare_result *comparison = view->comparison;
    return view->text.top ? PROFILE_COMPARE_LEAST * comparison->runs->result->application.max : 0;
}

/* Lists the entries of a table in the order in which they are printed, without those that the style
 * leaves out, and sets *count to their number. The caller frees the list. Returns NULL if memory is
 * exhausted. */
static struct listed *list_changes(const struct view *view, const struct style *style, int figure,
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

static void add_entry_name(struct columns *columns, const struct style *style,
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

static void add_entry_frames(struct columns *columns, const struct view *view,
                             const struct style *style, const struct compare_entry *entry)
{
    const struct compare_table *sites = &view->comparison->tables[COMPARE_CALLSITES];
    if (style->kind == COMPARE_WAITS)
        entry = &sites->entries[entry->site];
    if (!entry->sites)
        return;
    const struct profile_callsite *site = compare_last_site(view->comparison, entry);
    text_add_frames(columns, &view->text, site->frames, site->frame_count);
}

/* Prints the number of entries that the table leaves out. */
static void print_omitted(const struct view *view, const struct style *style, size_t count)
{
    const size_t small = view->comparison->tables[style->kind].entry_count - count;
    text_rest(&view->text, count, style->what);
    if (small && !style->changed)
        fprintf(view->text.stream, "(%zu more change%s by less than %s, %g %% of the run)\n", small,
                small == 1 ? "s" : "", units_time(least_change(view)), 100 * PROFILE_COMPARE_LEAST);
}

static bool print_compare_table(const struct view *view, const struct style *style)
{
    const struct compare_table *table = &view->comparison->tables[style->kind];
    const int figure = compare_figure_find(table, style->figure);
    size_t count;
    struct columns columns;
    struct listed *all = list_changes(view, style, figure, &count);
    if (!all || !table->entry_count || (style->changed && !count)) {
        free(all);
        return all != NULL;
    }
    fprintf(view->text.stream, "\n%s\n", style->title);
    start_run_columns(&columns, view->comparison, style->heading);
    for (size_t i = 0; i < text_shown(&view->text, count); i++) {
        add_entry_name(&columns, style, all[i].entry);
        add_run_columns(&columns, view->comparison, all[i].entry, figure,
                        table->figures[figure].unit);
        add_entry_frames(&columns, view, style, all[i].entry);
    }
    bool good = columns.good;
    if (count)
        good = columns_print(&columns, view->text.stream, view->text.width);
    else
        columns_drop(&columns);
    print_omitted(view, style, count);
    free(all);
    return good;
}

static bool print_tables(const struct view *view, unsigned sections)
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
            good = print_compare_table(view, &tables[i].style);
    }
    return good;
}

/* ---- Head ------------------------------------------------------------------------------------ */

static void add_run_lines(struct columns *lines, const struct view *view, int number,
                          bool names_mpi)
{
    const struct profile_run *run = &view->comparison->runs[number];
    const struct profile_result *result = run->result;
    char more[32] = "", ranks[32];
    if (run->files > 1)
        snprintf(more, sizeof more, " and %d more", run->files - 1);
    if (result->rank >= 0)
        snprintf(ranks, sizeof ranks, "rank %d alone", result->rank);
    else
        snprintf(ranks, sizeof ranks, "%d rank%s", result->ranks, result->ranks == 1 ? "" : "s");
    columns_add_line(lines, "%c  %s%s: %s, %s, %s", 'A' + number, run->name, more, result->program,
                     ranks, result->begin);
    if (result->termination)
        columns_add_line(lines, "   ended by %s", result->termination);
    if (names_mpi)
        columns_add_line(lines, "   with %.*s", view->text.width - 8, result->mpi);
}

static bool has_several_libraries(const struct compare_result *comparison)
{
    bool differs = false;
    for (int i = 1; i < comparison->run_count; i++)
        differs =
            differs || strcmp(comparison->runs[i].result->mpi, comparison->runs->result->mpi) != 0;
    return differs;
}

/* Warns of differences between the runs that make their figures hard to compare. */
static void add_difference_lines(struct columns *lines, const struct compare_result *comparison)
{
    const struct profile_result *base = comparison->runs->result;
    bool program = false;
    for (int i = 1; i < comparison->run_count; i++) {
        const struct profile_result *it = comparison->runs[i].result;
        program = program ||
                  strcmp(qmpi_text_base_name(it->program), qmpi_text_base_name(base->program)) != 0;
    }
    if (program)
        columns_add_line(lines, "(the runs are of different programs)");
    if (has_several_libraries(comparison))
        columns_add_line(lines, "(the runs used different MPI libraries)");
    if (!comparison->same_ranks)
        columns_add_line(lines, "(the runs have different numbers of ranks: single ranks are not "
                                "compared)");
}

static bool print_head(const struct view *view)
{
    const bool names_mpi = has_several_libraries(view->comparison);
    struct columns lines;
    columns_start(&lines, "l");
    for (int i = 0; i < view->comparison->run_count; i++)
        add_run_lines(&lines, view, i, names_mpi);
    add_difference_lines(&lines, view->comparison);
    return columns_print(&lines, view->text.stream, view->text.width);
}

/* The figures of the two tables that have a single entry, in the order and with the names of the
 * text. */
static const struct label {
    enum compare_kind kind;
    const char *figure, *text;
} labels[] = {
    {COMPARE_TOTALS, "time", "elapsed time"},
    {COMPARE_TOTALS, "mpi", "time in MPI, mean"},
    {COMPARE_TOTALS, "useful", "outside MPI, mean"},
    {COMPARE_TOTALS, "calls", "calls"},
    {COMPARE_TOTALS, "bytes", "bytes"},
    {COMPARE_TOTALS, "memory", "peak memory"},
    {COMPARE_EFFICIENCY, "parallel", "parallel efficiency"},
    {COMPARE_EFFICIENCY, "load_balance", "  load balance"},
    {COMPARE_EFFICIENCY, "load_balance_between_nodes", "    between nodes"},
    {COMPARE_EFFICIENCY, "load_balance_within_nodes", "    within nodes"},
    {COMPARE_EFFICIENCY, "communication", "  communication"},
    {COMPARE_EFFICIENCY, "serialisation", "    serialisation"},
    {COMPARE_EFFICIENCY, "transfer", "    transfer"},
};

static bool is_figure_known(const struct compare_result *comparison,
                            const struct compare_entry *entry, int figure)
{
    bool known = false;
    for (int run = 0; run < comparison->run_count; run++)
        known = known || !isnan(compare_value(comparison, entry, figure, run));
    return known;
}

/* With one node in each run, the load balance between nodes is 1 and says nothing. */
static bool has_nodes(const struct compare_result *comparison)
{
    const struct compare_table *table = &comparison->tables[COMPARE_EFFICIENCY];
    const int figure = compare_figure_find(table, "load_balance_between_nodes");
    bool several = false;
    for (int run = 0; run < comparison->run_count; run++)
        several = several || compare_value(comparison, table->entries, figure, run) < 1;
    return several;
}

static bool print_totals(const struct view *view)
{
    const struct compare_result *comparison = view->comparison;
    const bool nodes = has_nodes(comparison);
    struct columns columns;
    fputc('\n', view->text.stream);
    start_run_columns(&columns, comparison, "");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const struct compare_table *table = &comparison->tables[labels[i].kind];
        const int figure = compare_figure_find(table, labels[i].figure);
        if (figure < 0 || !is_figure_known(comparison, table->entries, figure) ||
            (strstr(labels[i].figure, "nodes") && !nodes))
            continue;
        columns_add(&columns, "%s", labels[i].text);
        add_run_columns(&columns, comparison, table->entries, figure, table->figures[figure].unit);
    }
    return columns_print(&columns, view->text.stream, view->text.width);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static bool print_limits(const struct view *view)
{
    static const char *const headings[] = {"limit", "run", "worse by", "allowed", "", NULL};
    const struct compare_result *comparison = view->comparison;
    struct columns columns;
    if (!comparison->limit_count)
        return true;
    fputc('\n', view->text.stream);
    columns_start(&columns, "lrrrl");
    columns_add_all(&columns, headings);
    for (int i = 0; i < comparison->limit_count; i++) {
        const struct compare_limit *limit = &comparison->limits[i];
        for (int run = 1; run < comparison->run_count; run++) {
            const double worse = compare_worsening(comparison, limit->name, run);
            columns_add(&columns, "%s", limit->name);
            columns_add(&columns, "%c", 'A' + run);
            columns_add(&columns, "%.1f %%", worse);
            columns_add(&columns, "%g %%", limit->percent);
            columns_add(&columns, compare_exceeds(comparison, limit, run) ? "exceeded" : "");
        }
    }
    return columns_print(&columns, view->text.stream, view->text.width);
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* Prints a sentence about each later run (compare_describe), wrapped to the width of the view. */
static bool print_sentences(const struct view *view)
{
    char sentence[COMPARE_SENTENCE];
    struct columns lines;
    columns_start(&lines, "l");
    for (int run = 1; run < view->comparison->run_count; run++) {
        compare_describe(view->comparison, run, sentence, sizeof sentence);
        text_add_wrapped(&lines, sentence, view->text.width, "");
    }
    if (lines.row_count)
        fputc('\n', view->text.stream);
    return columns_print(&lines, view->text.stream, view->text.width);
}

static bool print_changes(const struct view *view, enum compare_change change, const char *title)
{
    const struct compare_result *comparison = view->comparison;
    struct columns lines;
    bool first = true;
    columns_start(&lines, "l");
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct compare_finding *pair = &comparison->pairs[i];
        if (compare_change_of(comparison, pair) != change)
            continue;
        if (first)
            fprintf(view->text.stream, "\n%s\n", title);
        first = false;
        for (int run = 0; run < comparison->run_count; run++) {
            const char letter[] = {(char)('A' + run), ' ', ' ', '\0'};
            if (pair->runs[run])
                text_add_wrapped(&lines, profile_finding_text(pair->runs[run]), view->text.width,
                                 letter);
        }
    }
    return columns_print(&lines, view->text.stream, view->text.width);
}

static bool print_findings(const struct view *view)
{
    return print_changes(view, COMPARE_NEW, "New findings") &&
           print_changes(view, COMPARE_GONE, "Findings that are gone") &&
           print_changes(view, COMPARE_STILL, "Findings that remain");
}

/* ---- The whole text -------------------------------------------------------------------------- */

bool profile_compare_print_text(FILE *stream, const struct compare_result *comparison,
                                unsigned sections, enum profile_sort order,
                                const struct profile_layout *layout)
{
    const struct view view = {{stream, NULL, layout->top, layout->width}, comparison, order};
    return print_head(&view) && print_sentences(&view) && print_totals(&view) &&
           print_limits(&view) && print_findings(&view) && print_tables(&view, sections);
}
