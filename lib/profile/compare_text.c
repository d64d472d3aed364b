/* SPDX-License-Identifier: MIT */
/* See compare_print.h: text. The head: what is said of the runs as a whole. */
#define _GNU_SOURCE
#include "profile/columns.h"
#include "profile/compare_print.h"
#include "profile/compare_text_parts.h"

#include <math.h>
#include <string.h>

/* ---- Head ------------------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void note_run(struct columns *lines, const struct compare_view *view, int number,
                     bool names_mpi)
{
    const struct profile_named *run = &view->comparison->runs[number];
    const struct profile_result *result = run->result;
    char more[32] = "", ranks[32];
    if (run->files > 1)
        snprintf(more, sizeof more, " and %d more", run->files - 1);
    if (result->rank >= 0)
        snprintf(ranks, sizeof ranks, "rank %d alone", result->rank);
    else
        snprintf(ranks, sizeof ranks, "%d rank%s", result->ranks, result->ranks == 1 ? "" : "s");
    columns_note(lines, "%c  %s%s: %s, %s, %s", 'A' + number, run->name, more, result->program,
                 ranks, result->begin);
    if (result->termination)
        columns_note(lines, "   ended by %s", result->termination);
    if (names_mpi)
        columns_note(lines, "   with %.*s", view->text.width - 8, result->mpi);
}

static bool has_several_libraries(const struct profile_comparison *comparison)
{
    bool differs = false;
    for (int i = 1; i < comparison->run_count; i++)
        differs =
            differs || strcmp(comparison->runs[i].result->mpi, comparison->runs->result->mpi) != 0;
    return differs;
}

/* What makes the figures hard to compare. */
static void note_differences(struct columns *lines, const struct profile_comparison *comparison)
{
    const struct profile_result *base = comparison->runs->result;
    bool program = false;
    for (int i = 1; i < comparison->run_count; i++) {
        const struct profile_result *it = comparison->runs[i].result;
        program = program || strcmp(base_name(it->program), base_name(base->program)) != 0;
    }
    if (program)
        columns_note(lines, "(the runs are of different programs)");
    if (has_several_libraries(comparison))
        columns_note(lines, "(the runs used different MPI libraries)");
    if (!comparison->same_ranks)
        columns_note(lines, "(the runs have different numbers of ranks: single ranks are not "
                            "compared)");
}

static bool print_head(const struct compare_view *view)
{
    const bool names_mpi = has_several_libraries(view->comparison);
    struct columns lines;
    columns_start(&lines, "l");
    for (int i = 0; i < view->comparison->run_count; i++)
        note_run(&lines, view, i, names_mpi);
    note_differences(&lines, view->comparison);
    return columns_print(&lines, view->text.stream, view->text.width);
}

/* The figures of the tables of one entry, in the order and with the names of the text. */
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

static bool is_known(const struct profile_comparison *comparison, const struct compare_entry *entry,
                     int figure)
{
    bool known = false;
    for (int run = 0; run < comparison->run_count; run++)
        known = known || !isnan(compare_value(comparison, entry, figure, run));
    return known;
}

/* What is 1 in every run says nothing: there is one node. */
static bool has_nodes(const struct profile_comparison *comparison)
{
    const struct compare_table *table = &comparison->tables[COMPARE_EFFICIENCY];
    const int figure = compare_figure_find(table, "load_balance_between_nodes");
    bool several = false;
    for (int run = 0; run < comparison->run_count; run++)
        several = several || compare_value(comparison, table->entries, figure, run) < 1;
    return several;
}

static bool print_totals(const struct compare_view *view)
{
    const struct profile_comparison *comparison = view->comparison;
    const bool nodes = has_nodes(comparison);
    struct columns columns;
    fputc('\n', view->text.stream);
    compare_columns_start(&columns, comparison, "");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const struct compare_table *table = &comparison->tables[labels[i].kind];
        const int figure = compare_figure_find(table, labels[i].figure);
        if (figure < 0 || !is_known(comparison, table->entries, figure) ||
            (strstr(labels[i].figure, "nodes") && !nodes))
            continue;
        columns_add(&columns, "%s", labels[i].text);
        compare_columns_add(&columns, comparison, table->entries, figure,
                            table->figures[figure].unit);
    }
    return columns_print(&columns, view->text.stream, view->text.width);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static bool print_limits(const struct compare_view *view)
{
    static const char *const headings[] = {"limit", "run", "worse by", "allowed", "", NULL};
    const struct profile_comparison *comparison = view->comparison;
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

enum change { NEW, GONE, STILL };

static enum change change_of(const struct profile_comparison *comparison,
                             const struct compare_finding *pair)
{
    return !pair->runs[0] ? NEW : !pair->runs[comparison->run_count - 1] ? GONE : STILL;
}

static bool print_changes(const struct compare_view *view, enum change change, const char *title)
{
    const struct profile_comparison *comparison = view->comparison;
    struct columns lines;
    bool first = true;
    columns_start(&lines, "l");
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct compare_finding *pair = &comparison->pairs[i];
        if (change_of(comparison, pair) != change)
            continue;
        if (first)
            fprintf(view->text.stream, "\n%s\n", title);
        first = false;
        for (int run = 0; run < comparison->run_count; run++) {
            if (pair->runs[run])
                columns_note(&lines, "%c  %s", 'A' + run, pair->runs[run]->summary);
        }
    }
    return columns_print(&lines, view->text.stream, view->text.width);
}

static bool print_findings(const struct compare_view *view)
{
    return print_changes(view, NEW, "New findings") &&
           print_changes(view, GONE, "Findings that are gone") &&
           print_changes(view, STILL, "Findings that remain");
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool profile_print_comparison(FILE *stream, const struct profile_comparison *comparison,
                              unsigned sections, enum profile_sort order,
                              const struct profile_layout *layout)
{
    const struct compare_view view = {
        {stream, NULL, layout->top, layout->width}, comparison, order};
    return print_head(&view) && print_totals(&view) && print_limits(&view) &&
           print_findings(&view) && compare_print_tables(&view, sections);
}
