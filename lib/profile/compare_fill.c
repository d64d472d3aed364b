/* SPDX-License-Identifier: MIT */
/* See compare_parts.h: the figures of the tables, and the tables of the run, of functions, ranks
 * and regions. */
#define _GNU_SOURCE
#include "profile/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures --------------------------------------------------------------------------------- */

static const struct compare_figure total_figures[] = {
    {"time", COMPARE_SECONDS}, {"mpi", COMPARE_SECONDS}, {"useful", COMPARE_SECONDS},
    {"calls", COMPARE_COUNT},  {"bytes", COMPARE_BYTES}, {"memory", COMPARE_BYTES}};
enum { TOTAL_FIGURES = sizeof total_figures / sizeof *total_figures };

static const struct compare_figure call_figures[] = {
    {"time", COMPARE_SECONDS},     {"calls", COMPARE_COUNT},      {"bytes", COMPARE_BYTES},
    {"time_sum", COMPARE_SECONDS}, {"time_min", COMPARE_SECONDS}, {"time_max", COMPARE_SECONDS},
    {"wait", COMPARE_SECONDS},     {"sent", COMPARE_BYTES},       {"received", COMPARE_BYTES},
    {"ranks", COMPARE_COUNT}};
enum { CALL_FIGURES = sizeof call_figures / sizeof *call_figures };

static const struct compare_figure rank_figures[] = {{"useful", COMPARE_SECONDS},
                                                     {"mpi", COMPARE_SECONDS},
                                                     {"application", COMPARE_SECONDS},
                                                     {"memory", COMPARE_BYTES}};
enum { RANK_FIGURES = sizeof rank_figures / sizeof *rank_figures };

static const struct compare_figure wait_figures[] = {{"time", COMPARE_SECONDS},
                                                     {"calls", COMPARE_COUNT}};
enum { WAIT_FIGURES = sizeof wait_figures / sizeof *wait_figures };

/* Those of efficiency.h follow them. */
static const struct compare_figure region_figures[] = {{"time", COMPARE_SECONDS},
                                                       {"mpi", COMPARE_SECONDS},
                                                       {"useful", COMPARE_SECONDS},
                                                       {"entries", COMPARE_COUNT}};
enum { REGION_FIGURES = sizeof region_figures / sizeof *region_figures };

/* Those of efficiency.h without times, of which the elapsed one is among the totals. */
static int list_ratios(const struct profile_efficiency *efficiency, double *values,
                       struct compare_figure *figures)
{
    struct profile_efficiency_figure list[PROFILE_EFFICIENCY_FIGURES];
    int count = 0;
    const int known = profile_efficiency_list(efficiency, list);
    for (int i = 0; i < PROFILE_EFFICIENCY_FIGURES; i++) {
        if (!strcmp(list[i].name, "elapsed") || !strcmp(list[i].name, "critical_path"))
            continue;
        values[count] = i < known ? list[i].value : NAN;
        figures[count++] = (struct compare_figure){list[i].name, COMPARE_RATIO};
    }
    return count;
}

void compare_start(struct profile_comparison *comparison)
{
    const struct profile_efficiency nothing = {0};
    double values[PROFILE_EFFICIENCY_FIGURES];
    const int ratio_count = list_ratios(&nothing, values, comparison->ratios);
    const struct compare_table tables[COMPARE_TABLES] = {
        [COMPARE_TOTALS] = {"totals", total_figures, TOTAL_FIGURES},
        [COMPARE_EFFICIENCY] = {"efficiency", comparison->ratios, ratio_count},
        [COMPARE_FUNCTIONS] = {"functions", call_figures, CALL_FIGURES},
        [COMPARE_CALLSITES] = {"callsites", call_figures, CALL_FIGURES},
        [COMPARE_RANKS] = {"ranks", rank_figures, RANK_FIGURES},
        [COMPARE_WAITS] = {"waits", wait_figures, WAIT_FIGURES},
        [COMPARE_REGIONS] = {"regions", comparison->region_figures, REGION_FIGURES + ratio_count},
    };
    memcpy(comparison->tables, tables, sizeof tables);
    memcpy(comparison->region_figures, region_figures, sizeof region_figures);
    memcpy(comparison->region_figures + REGION_FIGURES, comparison->ratios,
           sizeof comparison->ratios);
}

/* Only sync=yes measures waiting before collectives: otherwise it is not known. */
static bool measures_waiting(const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        if (result->functions[i].calls.wait.sum > 0)
            return true;
    }
    return false;
}

void compare_set_calls(const struct profile_comparison *comparison, enum compare_kind kind,
                       struct compare_entry *entry, int run, const struct profile_calls *calls,
                       int ranks)
{
    const bool waits = measures_waiting(comparison->runs[run].result);
    const double values[CALL_FIGURES] = {calls->time.mean,
                                         (double)calls->calls,
                                         (double)calls->sent + (double)calls->received,
                                         calls->time.sum,
                                         calls->time.min,
                                         calls->time.max,
                                         waits ? calls->wait.mean : NAN,
                                         (double)calls->sent,
                                         (double)calls->received,
                                         ranks ? ranks : NAN};
    compare_set(comparison, kind, entry, run, values);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool fill_totals(struct profile_comparison *comparison)
{
    struct compare_entry *entry = compare_add(comparison, COMPARE_TOTALS, "", -1, -1);
    for (int run = 0; entry && run < comparison->run_count; run++) {
        const struct profile_result *result = comparison->runs[run].result;
        double values[TOTAL_FIGURES] = {result->application.max, result->time.mean};
        for (size_t i = 0; i < result->process_count; i++) {
            values[2] += result->processes[i].useful / (double)result->process_count;
            values[5] = fmax(values[5], (double)result->processes[i].memory);
        }
        for (size_t i = 0; i < result->function_count; i++) {
            const struct profile_calls *calls = &result->functions[i].calls;
            values[3] += (double)calls->calls;
            values[4] += (double)calls->sent + (double)calls->received;
        }
        if (!result->process_count)
            values[2] = values[5] = NAN;
        compare_set(comparison, COMPARE_TOTALS, entry, run, values);
    }
    return entry != NULL;
}

/* Returns whether they are known. */
static bool set_ratios(const struct profile_result *result, const struct profile_region *region,
                       double values[PROFILE_EFFICIENCY_FIGURES])
{
    struct profile_efficiency found;
    struct compare_figure figures[PROFILE_EFFICIENCY_FIGURES];
    const bool known = profile_efficiency_find(result, region, &found);
    for (int i = 0; i < PROFILE_EFFICIENCY_FIGURES; i++)
        values[i] = NAN;
    if (known)
        list_ratios(&found, values, figures);
    return known;
}

static bool fill_efficiency(struct profile_comparison *comparison)
{
    struct compare_entry *entry = compare_add(comparison, COMPARE_EFFICIENCY, "", -1, -1);
    for (int run = 0; entry && run < comparison->run_count; run++) {
        double values[PROFILE_EFFICIENCY_FIGURES];
        set_ratios(comparison->runs[run].result, NULL, values);
        compare_set(comparison, COMPARE_EFFICIENCY, entry, run, values);
    }
    return entry != NULL;
}

/* The entry of that name and rank; a new one if there is none. */
static struct compare_entry *find_entry(struct profile_comparison *comparison,
                                        enum compare_kind kind, const char *name, int rank)
{
    const struct compare_table *table = &comparison->tables[kind];
    for (size_t i = 0; i < table->entry_count; i++) {
        struct compare_entry *entry = &table->entries[i];
        if (entry->rank == rank && !strcmp(entry->name, name))
            return entry;
    }
    return compare_add(comparison, kind, name, rank, -1);
}

static bool fill_functions(struct profile_comparison *comparison, int run)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->function_count && good; i++) {
        const struct profile_function *it = &result->functions[i];
        struct compare_entry *entry = find_entry(comparison, COMPARE_FUNCTIONS, it->name, -1);
        good = entry != NULL;
        if (good)
            compare_set_calls(comparison, COMPARE_FUNCTIONS, entry, run, &it->calls, it->ranks);
    }
    return good;
}

static bool fill_regions(struct profile_comparison *comparison, int run)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->region_count && good; i++) {
        const struct profile_region *it = &result->regions[i];
        struct compare_entry *entry = find_entry(comparison, COMPARE_REGIONS, it->name, -1);
        double values[REGION_FIGURES + PROFILE_EFFICIENCY_FIGURES] = {it->time.mean, it->mpi.mean};
        const bool known = set_ratios(result, it, values + REGION_FIGURES);
        values[2] = known ? it->useful.mean : NAN;
        values[3] = (double)it->entries;
        good = entry != NULL;
        if (good)
            compare_set(comparison, COMPARE_REGIONS, entry, run, values);
    }
    return good;
}

/* Processes are in the order of their ranks, so that the search finds each one at once. */
static bool fill_ranks(struct profile_comparison *comparison, int run)
{
    const struct profile_result *result = comparison->runs[run].result;
    const struct compare_table *table = &comparison->tables[COMPARE_RANKS];
    bool good = true;
    for (size_t i = 0; i < result->process_count && good; i++) {
        const struct profile_process *it = &result->processes[i];
        const double values[RANK_FIGURES] = {it->useful, it->mpi, it->application,
                                             (double)it->memory};
        const bool here = i < table->entry_count && table->entries[i].rank == it->rank;
        struct compare_entry *entry =
            here ? &table->entries[i] : find_entry(comparison, COMPARE_RANKS, "", it->rank);
        good = entry != NULL;
        if (good)
            compare_set(comparison, COMPARE_RANKS, entry, run, values);
    }
    return good;
}

bool compare_fill(struct profile_comparison *comparison)
{
    bool good = fill_totals(comparison) && fill_efficiency(comparison);
    for (int run = 0; run < comparison->run_count && good; run++)
        good = fill_functions(comparison, run) && fill_regions(comparison, run) &&
               (!comparison->same_ranks || fill_ranks(comparison, run));
    if (!good || !compare_sites(comparison))
        return false;
    for (int kind = 0; kind < COMPARE_TABLES; kind++)
        compare_sort(comparison, (enum compare_kind)kind);
    return compare_findings(comparison) && (!comparison->same_ranks || compare_waits(comparison));
}
