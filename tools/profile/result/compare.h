/* SPDX-License-Identifier: MIT */
/*
 * Compares the results of two or more runs, of which the first is the base. A comparison is a set
 * of tables. An entry of a table is a thing, such as a function or a call site, with a value of
 * each figure in each run. The writers of text, JSON and CSV print what the tables contain.
 */
#ifndef QMPI_PROFILE_COMPARE_H
#define QMPI_PROFILE_COMPARE_H

#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/findings.h"
#include "tools/profile/result/profile_result.h"

enum compare_unit { COMPARE_SECONDS, COMPARE_COUNT, COMPARE_BYTES, COMPARE_RATIO };

struct compare_figure {
    const char *name; /* in JSON and CSV */
    enum compare_unit unit;
};

struct compare_entry {
    const char *name;                      /* of the function or region; "": the run, a rank */
    int rank, peer;                        /* -1: none, or the peer of a wait is unknown */
    size_t site;                           /* of a wait: its entry in the table of call sites */
    const struct profile_callsite **sites; /* of a call site: [run], or NULL if the run lacks it */
    bool *has;                             /* whether each run has the thing */
    double *values;                        /* see compare_value */
};

/* The tables, in the order in which they are written. */
enum compare_kind {
    COMPARE_TOTALS,     /* one entry: the run */
    COMPARE_EFFICIENCY, /* one entry */
    COMPARE_FUNCTIONS,
    COMPARE_CALLSITES,
    COMPARE_RANKS, /* this and the next one are empty if the numbers of ranks differ */
    COMPARE_WAITS,
    COMPARE_REGIONS,
    COMPARE_TABLES
};

struct compare_table {
    const char *name; /* in JSON */
    const struct compare_figure *figures;
    int figure_count;
    struct compare_entry *entries; /* the largest change of the first figure first */
    size_t entry_count, entry_room;
};

/* A finding in each run, at the same place and usually of the same kind (see add_run_findings).
 * NULL: the run does not have it. */
struct compare_finding {
    const struct profile_finding **runs;
};

/* By how much a figure may be worse than in the base. */
struct compare_limit {
    const char *name; /* one of profile_compare_limit_names */
    double percent;
};

/* The names of the figures that can have a limit; NULL after the last one. */
extern const char *const profile_compare_limit_names[];

struct compare_result {
    int run_count;
    struct profile_run *runs;
    bool same_ranks; /* all runs have the same number of ranks */
    struct profile_findings *findings;
    struct compare_finding *pairs;
    size_t pair_count, pair_room;
    struct compare_table tables[COMPARE_TABLES];
    /* The figures of efficiency, and those of regions, which include them. */
    struct compare_figure ratios[PROFILE_EFFICIENCY_FIGURES];
    struct compare_figure region_figures[PROFILE_EFFICIENCY_FIGURES + 4];
    const struct compare_limit *limits; /* set by the caller, if it has any */
    int limit_count;
};

/* Compares `count` results, which must outlive the comparison. Returns NULL if memory is
 * exhausted. */
struct compare_result *profile_compare(const struct profile_run *runs, int count);

void profile_compare_free(struct compare_result *comparison);

/* Says in a sentence without its period how much faster or slower a run is than the first one,
 * where most of the difference is, and what changed in the other direction. The text is empty if a
 * time is unknown or memory is exhausted. */
enum { COMPARE_SENTENCE = 2048 };
void compare_describe(const struct compare_result *comparison, int run, char *sentence,
                      size_t size);

/* Whether a finding is new, gone or still there. A finding that the first run lacks is new only if
 * its call site takes much longer than in the first run (see has_grown), or if it has no call site.
 * Otherwise, it counts as still there: only its share of the run has grown. A finding of the first
 * run is gone if the last run lacks it. */
enum compare_change { COMPARE_NEW, COMPARE_GONE, COMPARE_STILL };
enum compare_change compare_change_of(const struct compare_result *comparison,
                                      const struct compare_finding *pair);

/* Returns a value: 0 if the run does not have the thing, NAN if the value is unknown. */
double compare_value(const struct compare_result *comparison, const struct compare_entry *entry,
                     int figure, int run);

/* Returns the largest amount by which a later run differs from the base; unknown differences count
 * as 0. */
double compare_change(const struct compare_result *comparison, const struct compare_entry *entry,
                      int figure);

/* Returns by how many percent the figure with the name `limit` is worse in a run than in the base.
 * If the figure is better, the result is negative. If the figure of the base is 0, the result is
 * INFINITY if the figure is worse, and 0 otherwise. If the figure of either run is unknown, the
 * result is NAN. */
double compare_worsening(const struct compare_result *comparison, const char *limit, int run);

/* Returns whether a figure is beyond a limit in a run. An unknown figure is not. */
bool compare_exceeds(const struct compare_result *comparison, const struct compare_limit *limit,
                     int run);

/* Returns the call site of an entry in the last run that has it. */
const struct profile_callsite *compare_last_site(const struct compare_result *comparison,
                                                 const struct compare_entry *entry);

/* Returns the number of the figure with this name, or -1 if the table has none. */
int compare_figure_find(const struct compare_table *table, const char *name);

#endif
