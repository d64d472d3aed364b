/* SPDX-License-Identifier: MIT */
/* See compare.h: the tables and their entries, the findings of the runs, and limits. */
#define _GNU_SOURCE
#include "tools/profile/result/compare.h"
#include "util/util.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Entries --------------------------------------------------------------------------------- */

static struct compare_entry *add_compare_entry(struct compare_result *comparison,
                                               enum compare_kind kind, const char *name, int rank,
                                               int peer)
{
    struct compare_table *table = &comparison->tables[kind];
    const size_t runs = (size_t)comparison->run_count;
    if (!QMPI_MEMORY_RESERVE(table->entries, table->entry_room, table->entry_count + 1))
        return NULL;
    struct compare_entry *entry = &table->entries[table->entry_count];
    *entry = (struct compare_entry){.name = name, .rank = rank, .peer = peer};
    entry->has = calloc(runs, sizeof *entry->has);
    entry->values = calloc(runs * (size_t)table->figure_count, sizeof *entry->values);
    entry->sites = kind == COMPARE_CALLSITES ? calloc(runs, sizeof(void *)) : NULL;
    table->entry_count++; /* from now on, profile_compare_free frees the entry's members */
    return entry->has && entry->values && (entry->sites || kind != COMPARE_CALLSITES) ? entry
                                                                                      : NULL;
}

static void set_entry(const struct compare_result *comparison, enum compare_kind kind,
                      struct compare_entry *entry, int run, const double *values)
{
    entry->has[run] = true;
    for (int i = 0; i < comparison->tables[kind].figure_count; i++)
        entry->values[i * comparison->run_count + run] = values[i];
}

double compare_value(const struct compare_result *comparison, const struct compare_entry *entry,
                     int figure, int run)
{
    return entry->values[figure * comparison->run_count + run];
}

double compare_change(const struct compare_result *comparison, const struct compare_entry *entry,
                      int figure)
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

static void sort_table(struct compare_result *comparison, enum compare_kind kind)
{
    struct compare_table *table = &comparison->tables[kind];
    if (table->entry_count > 1)
        qsort_r(table->entries, table->entry_count, sizeof *table->entries, compare_changes,
                comparison);
}

const struct profile_callsite *compare_last_site(const struct compare_result *comparison,
                                                 const struct compare_entry *entry)
{
    int run = comparison->run_count - 1;
    while (run > 0 && !entry->sites[run])
        run--;
    return entry->sites[run];
}

int compare_figure_find(const struct compare_table *table, const char *name)
{
    for (int i = 0; i < table->figure_count; i++) {
        if (!strcmp(table->figures[i].name, name))
            return i;
    }
    return -1;
}

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

/* The ratios of efficiency.h (see list_ratios) follow these. */
static const struct compare_figure region_figures[] = {{"time", COMPARE_SECONDS},
                                                       {"mpi", COMPARE_SECONDS},
                                                       {"useful", COMPARE_SECONDS},
                                                       {"entries", COMPARE_COUNT}};
enum { REGION_FIGURES = sizeof region_figures / sizeof *region_figures };

/* Lists the figures of efficiency.h that are ratios, that is, all but the elapsed time and the
 * critical path. Returns their number. */
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

static void start_tables(struct compare_result *comparison)
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

/* Waiting before collectives is known only if sync=yes measured it. */
static bool measures_waiting(const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        if (result->functions[i].calls.wait.sum > 0)
            return true;
    }
    return false;
}

static void set_call_figures(const struct compare_result *comparison, enum compare_kind kind,
                             struct compare_entry *entry, int run,
                             const struct profile_calls *calls, int ranks)
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
    set_entry(comparison, kind, entry, run, values);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool fill_totals(struct compare_result *comparison)
{
    struct compare_entry *entry = add_compare_entry(comparison, COMPARE_TOTALS, "", -1, -1);
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
        set_entry(comparison, COMPARE_TOTALS, entry, run, values);
    }
    return entry != NULL;
}

/* Sets the ratios of a run or a region. Returns whether they are known. */
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

static bool fill_efficiency(struct compare_result *comparison)
{
    struct compare_entry *entry = add_compare_entry(comparison, COMPARE_EFFICIENCY, "", -1, -1);
    for (int run = 0; entry && run < comparison->run_count; run++) {
        double values[PROFILE_EFFICIENCY_FIGURES];
        set_ratios(comparison->runs[run].result, NULL, values);
        set_entry(comparison, COMPARE_EFFICIENCY, entry, run, values);
    }
    return entry != NULL;
}

/* Returns the entry of that name and rank, which is added if it is missing. */
static struct compare_entry *find_or_add_entry(struct compare_result *comparison,
                                               enum compare_kind kind, const char *name, int rank)
{
    const struct compare_table *table = &comparison->tables[kind];
    for (size_t i = 0; i < table->entry_count; i++) {
        struct compare_entry *entry = &table->entries[i];
        if (entry->rank == rank && !strcmp(entry->name, name))
            return entry;
    }
    return add_compare_entry(comparison, kind, name, rank, -1);
}

static bool fill_functions(struct compare_result *comparison, int run)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->function_count && good; i++) {
        const struct profile_function *it = &result->functions[i];
        struct compare_entry *entry =
            find_or_add_entry(comparison, COMPARE_FUNCTIONS, it->name, -1);
        good = entry != NULL;
        if (good)
            set_call_figures(comparison, COMPARE_FUNCTIONS, entry, run, &it->calls, it->ranks);
    }
    return good;
}

static bool fill_regions(struct compare_result *comparison, int run)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->region_count && good; i++) {
        const struct profile_region *it = &result->regions[i];
        struct compare_entry *entry = find_or_add_entry(comparison, COMPARE_REGIONS, it->name, -1);
        double values[REGION_FIGURES + PROFILE_EFFICIENCY_FIGURES] = {it->time.mean, it->mpi.mean};
        const bool known = set_ratios(result, it, values + REGION_FIGURES);
        values[2] = known ? it->useful.mean : NAN;
        values[3] = (double)it->entries;
        good = entry != NULL;
        if (good)
            set_entry(comparison, COMPARE_REGIONS, entry, run, values);
    }
    return good;
}

/* Processes are usually in the order of their ranks, so that no search is needed for most of them.
 */
static bool fill_ranks(struct compare_result *comparison, int run)
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
            here ? &table->entries[i] : find_or_add_entry(comparison, COMPARE_RANKS, "", it->rank);
        good = entry != NULL;
        if (good)
            set_entry(comparison, COMPARE_RANKS, entry, run, values);
    }
    return good;
}

/* ---- Chains of callers ----------------------------------------------------------------------- */

static const char *base_name_or_empty(const char *path)
{
    return path ? qmpi_text_base_name(path) : "";
}

/* Returns the length of a name without the suffixes that compilers append to the names of copies of
 * functions. */
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

/* Without a function, a frame is recognized only by its module and offset. */
static int compare_frame_functions(const struct profile_frame *a, const struct profile_frame *b)
{
    if (!a->function || !b->function) {
        if (a->function || b->function)
            return a->function ? 1 : -1;
        const int order = strcmp(base_name_or_empty(a->module), base_name_or_empty(b->module));
        return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
    }
    const int mine = name_length(a->function), its = name_length(b->function);
    const int order =
        mine != its ? (mine > its) - (mine < its) : strncmp(a->function, b->function, (size_t)mine);
    return order ? order : strcmp(base_name_or_empty(a->file), base_name_or_empty(b->file));
}

static int compare_call_chains(const struct profile_callsite *a, const struct profile_callsite *b)
{
    int order = strcmp(a->name, b->name);
    if (!order && a->frame_count != b->frame_count)
        return a->frame_count > b->frame_count ? 1 : -1;
    for (int i = 0; i < a->frame_count && !order; i++)
        order = compare_frame_functions(&a->frames[i], &b->frames[i]);
    return order;
}

/* Compares the lines of the outer frames first. Adding lines to a function does not change the
 * order of its call sites, so that runs of two versions of a program can be matched. */
static int compare_frame_lines(const struct profile_callsite *a, const struct profile_callsite *b)
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
    const int order = compare_call_chains(mine->site, its->site);
    return order ? order : compare_frame_lines(mine->site, its->site);
}

static size_t count_chain(const struct place *places, size_t count)
{
    size_t same = 0;
    while (same < count && !compare_call_chains(places->site, places[same].site))
        same++;
    return same;
}

/* Matches sites with the same callers. If a run has as many as there are entries, they match in the
 * order of their lines; otherwise, only those at the same lines match. */
static void match_chain(struct place *old, size_t old_count, struct place *new, size_t new_count)
{
    for (size_t i = 0, k = 0; i < old_count && k < new_count;) {
        const int order =
            old_count == new_count ? 0 : compare_frame_lines(old[i].site, new[k].site);
        if (!order) {
            new[k].entry = old[i].entry;
            new[k].matched = old[i].matched = true;
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* Both arrays are sorted. */
static void match_sites(struct place *old, size_t old_count, struct place *new, size_t new_count)
{
    while (old_count && new_count) {
        const int order = compare_call_chains(old->site, new->site);
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

static bool add_run_sites(struct compare_result *comparison, int run, struct place *new)
{
    const struct profile_result *result = comparison->runs[run].result;
    bool good = true;
    for (size_t i = 0; i < result->callsite_count && good; i++) {
        const struct profile_callsite *site = new[i].site;
        struct compare_entry *entry =
            new[i].matched ? &comparison->tables[COMPARE_CALLSITES].entries[new[i].entry]
                           : add_compare_entry(comparison, COMPARE_CALLSITES, site->name, -1, -1);
        good = entry != NULL;
        if (!good)
            break;
        entry->sites[run] = site;
        set_call_figures(comparison, COMPARE_CALLSITES, entry, run, &site->calls, site->ranks);
    }
    return good;
}

static void sort_places(struct place *places, size_t count)
{
    if (count > 1)
        qsort(places, count, sizeof *places, compare_places);
}

static bool fill_callsites(struct compare_result *comparison)
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
            places[i] = (struct place){compare_last_site(comparison, &table->entries[i]), i, false};
        for (size_t i = 0; i < new_count; i++)
            places[old_count + i].site = &result->callsites[i];
        sort_places(places, old_count);
        sort_places(places + old_count, new_count);
        match_sites(places, old_count, places + old_count, new_count);
        good = add_run_sites(comparison, run, places + old_count);
        free(places);
    }
    return good;
}

/* ---- Waits ----------------------------------------------------------------------------------- */

/* A wait of a run. */
struct run_wait {
    size_t site; /* the number of its call site in the table of call sites */
    int run;
    const struct profile_wait *it;
};

static int compare_wait_keys(const struct run_wait *a, const struct run_wait *b)
{
    if (a->site != b->site)
        return a->site > b->site ? 1 : -1;
    if (a->it->rank != b->it->rank)
        return a->it->rank > b->it->rank ? 1 : -1;
    return (a->it->peer > b->it->peer) - (a->it->peer < b->it->peer);
}

static int compare_run_waits(const void *a, const void *b)
{
    const struct run_wait *mine = a, *its = b;
    const int order = compare_wait_keys(mine, its);
    return order ? order : (mine->run > its->run) - (mine->run < its->run);
}

/* Versions that did not measure waits did not save the number of calling ranks either. */
static bool knows_waits(const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        if (result->functions[i].ranks)
            return true;
    }
    return !result->function_count;
}

/* Lists all waits in `all`, unless it is NULL. Returns their number. */
static size_t list_waits(const struct compare_result *comparison, struct run_wait *all)
{
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    size_t count = 0;
    for (size_t site = 0; site < sites->entry_count; site++) {
        for (int run = 0; run < comparison->run_count; run++) {
            const struct profile_callsite *it = sites->entries[site].sites[run];
            for (size_t i = 0; it && i < it->waits.count; i++, count++) {
                if (all)
                    all[count] = (struct run_wait){site, run, &it->waits.all[i]};
            }
        }
    }
    return count;
}

static bool add_wait_entries(struct compare_result *comparison, const struct run_wait *all,
                             size_t count, const bool *known)
{
    const struct compare_table *table = &comparison->tables[COMPARE_WAITS];
    struct compare_entry *entry = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct profile_wait *it = all[i].it;
        const double values[] = {it->time, (double)it->calls};
        if (!i || compare_wait_keys(&all[i - 1], &all[i])) {
            const char *name = comparison->tables[COMPARE_CALLSITES].entries[all[i].site].name;
            entry = add_compare_entry(comparison, COMPARE_WAITS, name, it->rank, it->peer);
            if (!entry)
                return false;
            entry->site = all[i].site;
            for (int k = 0; k < comparison->run_count * table->figure_count; k++)
                entry->values[k] = known[k % comparison->run_count] ? 0 : NAN;
        }
        set_entry(comparison, COMPARE_WAITS, entry, all[i].run, values);
    }
    return true;
}

static bool fill_waits(struct compare_result *comparison)
{
    const size_t count = list_waits(comparison, NULL);
    struct run_wait *all = calloc(count + 1, sizeof *all);
    bool *known = calloc((size_t)comparison->run_count, sizeof *known);
    bool good = all && known;
    for (int run = 0; run < comparison->run_count && good; run++)
        known[run] = knows_waits(comparison->runs[run].result);
    if (good && list_waits(comparison, all))
        qsort(all, count, sizeof *all, compare_run_waits);
    good = good && add_wait_entries(comparison, all, count, known);
    free(all);
    free(known);
    if (good)
        sort_table(comparison, COMPARE_WAITS);
    return good;
}

/* ---- Findings -------------------------------------------------------------------------------- */

enum { NO_SITE = -1 };

/* Returns the number of the entry of a finding's call site. */
static long find_site_entry(const struct compare_result *comparison, int run,
                            const struct profile_finding *finding)
{
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    for (size_t i = 0; finding->site && i < sites->entry_count; i++) {
        if (sites->entries[i].sites[run] == finding->site)
            return (long)i;
    }
    return NO_SITE;
}

/* How closely two findings agree. */
enum { SAME_RANKS, SAME_KIND, SAME_SITE, MATCHES };

/* Returns whether a finding is at the same place as that of an earlier run in `pair`, and,
 * depending on `match`, of the same kind and about the same ranks. */
static bool is_same_finding(const struct compare_result *comparison,
                            const struct compare_finding *pair, int run,
                            const struct profile_finding *finding, int match)
{
    const long site = find_site_entry(comparison, run, finding);
    for (int other = 0; other < run; other++) {
        const struct profile_finding *it = pair->runs[other];
        if (it && find_site_entry(comparison, other, it) == site &&
            (match == SAME_SITE ? site != NO_SITE : it->kind == finding->kind) &&
            (match != SAME_RANKS || (it->rank == finding->rank && it->peer == finding->peer)))
            return true;
    }
    return false;
}

static struct compare_finding *add_pair(struct compare_result *comparison)
{
    if (!QMPI_MEMORY_RESERVE(comparison->pairs, comparison->pair_room, comparison->pair_count + 1))
        return NULL;
    struct compare_finding *pair = &comparison->pairs[comparison->pair_count];
    pair->runs = calloc((size_t)comparison->run_count, sizeof(void *));
    comparison->pair_count += pair->runs != NULL;
    return pair->runs ? pair : NULL;
}

/* Matches findings of the same kind and ranks first. Then the ranks may differ, because they may
 * change from run to run. Last, the kinds may differ if the call site is the same, because one
 * cause may lead to findings of different kinds. */
static bool add_run_findings(struct compare_result *comparison, int run)
{
    const struct profile_findings *found = &comparison->findings[run];
    bool placed[PROFILE_FINDINGS_MOST] = {false};
    for (int match = 0; match < MATCHES; match++) {
        for (int i = 0; i < found->count; i++) {
            for (size_t k = 0; k < comparison->pair_count && !placed[i]; k++) {
                struct compare_finding *pair = &comparison->pairs[k];
                placed[i] = !pair->runs[run] &&
                            is_same_finding(comparison, pair, run, &found->all[i], match);
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

static double change_of_pair(const struct compare_result *comparison,
                             const struct compare_finding *pair)
{
    double most = 0;
    for (int run = 1; run < comparison->run_count; run++)
        most = fmax(most, fabs(seconds_of(pair->runs[run]) - seconds_of(pair->runs[0])));
    return most;
}

/* Orders by change, largest first. */
static int compare_pairs(const void *a, const void *b, void *comparison)
{
    const double mine = change_of_pair(comparison, a), its = change_of_pair(comparison, b);
    return (mine < its) - (mine > its);
}

static bool fill_findings(struct compare_result *comparison)
{
    bool good = true;
    for (int run = 0; run < comparison->run_count && good; run++) {
        if (!profile_findings_find(comparison->runs[run].result, &comparison->findings[run]))
            comparison->findings[run].count = 0;
        good = add_run_findings(comparison, run);
    }
    if (good && comparison->pair_count > 1)
        qsort_r(comparison->pairs, comparison->pair_count, sizeof *comparison->pairs, compare_pairs,
                comparison);
    return good;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

enum { CRITERIA = 10 };

const char *const profile_compare_limit_names[CRITERIA + 1] = {
    "time",          "mpi",           "efficiency", "load-balance",
    "communication", "serialisation", "transfer",   "calls",
    "bytes",         "memory",        NULL};

/* The figures that the names stand for, in the same order. */
static const struct criterion {
    enum compare_kind kind;
    const char *figure;
    bool falls; /* a smaller value is worse */
} criteria[CRITERIA] = {
    {COMPARE_TOTALS, "time", false},
    {COMPARE_TOTALS, "mpi", false},
    {COMPARE_EFFICIENCY, "parallel", true},
    {COMPARE_EFFICIENCY, "load_balance", true},
    {COMPARE_EFFICIENCY, "communication", true},
    {COMPARE_EFFICIENCY, "serialisation", true},
    {COMPARE_EFFICIENCY, "transfer", true},
    {COMPARE_TOTALS, "calls", false},
    {COMPARE_TOTALS, "bytes", false},
    {COMPARE_TOTALS, "memory", false},
};

double compare_worsening(const struct compare_result *comparison, const char *limit, int run)
{
    int number = 0;
    while (strcmp(profile_compare_limit_names[number], limit) != 0)
        number++;
    const struct criterion *it = &criteria[number];
    const struct compare_table *table = &comparison->tables[it->kind];
    const int figure = compare_figure_find(table, it->figure);
    const double base = compare_value(comparison, table->entries, figure, 0);
    const double value = compare_value(comparison, table->entries, figure, run);
    const double more = it->falls ? base - value : value - base;
    return base > 0 ? 100 * more / base : isnan(more) ? NAN : more > 0 ? INFINITY : 0;
}

bool compare_exceeds(const struct compare_result *comparison, const struct compare_limit *limit,
                     int run)
{
    /* A tiny excess does not count, because times are rounded when they are written. */
    enum { ROUNDING = 1000000000 };
    return compare_worsening(comparison, limit->name, run) > limit->percent + 1.0 / ROUNDING;
}

/* ---- The whole comparison -------------------------------------------------------------------- */

static bool fill_tables(struct compare_result *comparison)
{
    bool good = fill_totals(comparison) && fill_efficiency(comparison);
    for (int run = 0; run < comparison->run_count && good; run++)
        good = fill_functions(comparison, run) && fill_regions(comparison, run) &&
               (!comparison->same_ranks || fill_ranks(comparison, run));
    if (!good || !fill_callsites(comparison))
        return false;
    for (int kind = 0; kind < COMPARE_TABLES; kind++)
        sort_table(comparison, (enum compare_kind)kind);
    return fill_findings(comparison) && (!comparison->same_ranks || fill_waits(comparison));
}

struct compare_result *profile_compare(const struct profile_run *runs, int count)
{
    struct compare_result *comparison = calloc(1, sizeof *comparison);
    if (!comparison)
        return NULL;
    comparison->run_count = count;
    comparison->same_ranks = true;
    comparison->runs = calloc((size_t)count, sizeof *comparison->runs);
    comparison->findings = calloc((size_t)count, sizeof *comparison->findings);
    start_tables(comparison);
    bool good = comparison->runs && comparison->findings;
    for (int i = 0; i < count && good; i++) {
        comparison->runs[i] = runs[i];
        comparison->same_ranks =
            comparison->same_ranks && runs[i].result->ranks == runs->result->ranks;
    }
    if (good && fill_tables(comparison))
        return comparison;
    profile_compare_free(comparison);
    return NULL;
}

void profile_compare_free(struct compare_result *comparison)
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
