/* SPDX-License-Identifier: MIT */
/* See compare_print.h: CSV, with a row for each figure of each thing in each run, which tools for
 * tables can pivot. */
#define _GNU_SOURCE
#include "profile/compare_print.h"

#include "profile/csv_row.h"
#include "profile/frames.h"

#include <math.h>
#include <stdlib.h>

/* The columns in their order. New ones go to the end. */
enum { TABLE, NAME, TEXT, RANK, PEER, FIGURE, RUN, VALUE, BASE, DIFFERENCE, RATIO, COLUMNS_COUNT };

struct line {
    const char *texts[COLUMNS_COUNT]; /* NULL: empty, or a number */
    double numbers[COLUMNS_COUNT];    /* NAN: empty */
};

static struct line start(const char *table, const char *name, const char *text)
{
    struct line line = {.texts = {table, name, text}};
    for (int column = 0; column < COLUMNS_COUNT; column++)
        line.numbers[column] = NAN;
    return line;
}

static void put(FILE *stream, const struct line *line)
{
    for (int column = 0; column < COLUMNS_COUNT; column++) {
        if (column)
            putc(',', stream);
        if (line->texts[column])
            csv_put_text(stream, line->texts[column]);
        else if (isfinite(line->numbers[column]))
            fprintf(stream, "%.15g", line->numbers[column]);
    }
    putc('\n', stream);
}

/* ---- The head -------------------------------------------------------------------------------- */

static void put_run(FILE *stream, int run, const char *name, const char *text)
{
    struct line line = start("run", name, text);
    line.numbers[RUN] = run;
    put(stream, &line);
}

static void put_runs(FILE *stream, const struct profile_comparison *comparison)
{
    for (int run = 0; run < comparison->run_count; run++) {
        const struct profile_named *it = &comparison->runs[run];
        char ranks[16];
        snprintf(ranks, sizeof ranks, "%d", it->result->ranks);
        put_run(stream, run, "file", it->name);
        put_run(stream, run, "program", it->result->program);
        put_run(stream, run, "mpi", it->result->mpi);
        put_run(stream, run, "begin", it->result->begin);
        put_run(stream, run, "ranks", ranks);
        if (it->result->termination)
            put_run(stream, run, "ending", it->result->termination);
    }
}

static void put_limits(FILE *stream, const struct profile_comparison *comparison)
{
    for (int i = 0; i < comparison->limit_count; i++) {
        const struct compare_limit *limit = &comparison->limits[i];
        for (int run = 1; run < comparison->run_count; run++) {
            const bool exceeds = compare_exceeds(comparison, limit, run);
            struct line line = start("limit", limit->name, exceeds ? "exceeded" : "");
            line.numbers[RUN] = run;
            line.numbers[VALUE] = compare_worsening(comparison, limit->name, run);
            line.numbers[BASE] = limit->percent;
            put(stream, &line);
        }
    }
}

static void put_findings(FILE *stream, const struct profile_comparison *comparison)
{
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct profile_finding *const *runs = comparison->pairs[i].runs;
        for (int run = 0; run < comparison->run_count; run++) {
            if (!runs[run])
                continue;
            struct line line = start("finding", runs[run]->kind, runs[run]->summary);
            line.texts[FIGURE] = "seconds";
            line.numbers[RANK] = runs[run]->rank;
            if (runs[run]->peer >= 0)
                line.numbers[PEER] = runs[run]->peer;
            line.numbers[RUN] = run;
            line.numbers[VALUE] = runs[run]->seconds;
            put(stream, &line);
        }
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void put_figure(FILE *stream, const struct profile_comparison *comparison,
                       const struct compare_entry *entry, int figure, struct line line)
{
    const double base = compare_value(comparison, entry, figure, 0);
    for (int run = 0; run < comparison->run_count; run++) {
        const double value = compare_value(comparison, entry, figure, run);
        line.numbers[RUN] = run;
        line.numbers[VALUE] = entry->has[run] ? value : NAN;
        line.numbers[BASE] = run && entry->has[0] ? base : NAN;
        line.numbers[DIFFERENCE] = run ? value - base : NAN;
        line.numbers[RATIO] = run && base > 0 ? value / base : NAN;
        put(stream, &line);
    }
}

/* The frames of a call site in the last run that has it. NULL: memory is exhausted. */
static char *describe_site(const struct profile_comparison *comparison,
                           const struct compare_entry *entry)
{
    int run = comparison->run_count - 1;
    while (run > 0 && !entry->sites[run])
        run--;
    return profile_frames_describe(entry->sites[run]->frames, entry->sites[run]->frame_count);
}

static const char *const table_names[COMPARE_TABLES] = {
    "total", "efficiency", "function", "callsite", "rank", "wait", "region"};

static bool put_entry(FILE *stream, const struct profile_comparison *comparison,
                      enum compare_kind kind, const struct compare_entry *entry)
{
    const struct compare_table *table = &comparison->tables[kind];
    const struct compare_entry *place =
        kind == COMPARE_WAITS ? &comparison->tables[COMPARE_CALLSITES].entries[entry->site] : entry;
    char *text = place->sites ? describe_site(comparison, place) : NULL;
    struct line line = start(table_names[kind], entry->name, text);
    if (entry->rank >= 0)
        line.numbers[RANK] = entry->rank;
    if (entry->peer >= 0)
        line.numbers[PEER] = entry->peer;
    for (int figure = 0; figure < table->figure_count; figure++) {
        line.texts[FIGURE] = table->figures[figure].name;
        put_figure(stream, comparison, entry, figure, line);
    }
    free(text);
    return text || !place->sites;
}

bool profile_print_comparison_csv(FILE *stream, const struct profile_comparison *comparison)
{
    bool good = true;
    fputs("table,name,text,rank,peer,figure,run,value,base,difference,ratio\n", stream);
    put_runs(stream, comparison);
    put_limits(stream, comparison);
    put_findings(stream, comparison);
    for (int kind = 0; kind < COMPARE_TABLES; kind++) {
        const struct compare_table *table = &comparison->tables[kind];
        for (size_t i = 0; i < table->entry_count && good; i++)
            good = put_entry(stream, comparison, (enum compare_kind)kind, &table->entries[i]);
    }
    return good;
}
