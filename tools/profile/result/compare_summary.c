/* SPDX-License-Identifier: MIT */
/* See compare.h: the sentence that summarizes a comparison, and whether findings are new, gone or
 * still there. */
#define _GNU_SOURCE
#include "tools/profile/result/compare.h"

#include "tools/profile/result/finder.h"
#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_CHANGE 0.01 /* of the elapsed time of the first run */

/* Numbers of figures: TIME is that of the tables of totals, functions and call sites, USEFUL that
 * of the totals, and TIME_MAX that of functions and call sites. */
enum { TIME = 0, USEFUL = 2, TIME_MAX = 5 };

static double elapsed(const struct compare_result *comparison, int run)
{
    return compare_value(comparison, comparison->tables[COMPARE_TOTALS].entries, TIME, run);
}

/* Returns how much longer something takes in a run than in the first one, or 0 if this is unknown.
 */
static double growth(const struct compare_result *comparison, const struct compare_entry *entry,
                     int figure, int run)
{
    const double change =
        compare_value(comparison, entry, figure, run) - compare_value(comparison, entry, figure, 0);
    return isnan(change) ? 0 : change;
}

/* ---- The sentence ---------------------------------------------------------------------------- */

static void print_speed(FILE *text, const struct compare_result *comparison, int run)
{
    const double before = elapsed(comparison, 0), now = elapsed(comparison, run);
    const double ratio = before / now;
    fprintf(text, "%c ", 'A' + run);
    if (fabs(before - now) < LEAST_CHANGE * before)
        fprintf(text, "takes as long as A (%s)", units_time(now));
    else if (ratio >= 1.995)
        fprintf(text, "is %.1f times faster (%s instead of %s)", ratio, units_time(now),
                units_time(before));
    else if (ratio <= 1 / 1.995)
        fprintf(text, "is %.1f times slower (%s instead of %s)", 1 / ratio, units_time(now),
                units_time(before));
    else
        fprintf(text, "takes %.0f %% %s time (%s instead of %s)", 100 * fabs(now / before - 1),
                now < before ? "less" : "more", units_time(now), units_time(before));
}

static void print_place(FILE *text, const struct compare_result *comparison,
                        const struct compare_entry *entry)
{
    char place[512];
    const struct profile_callsite *site =
        entry->sites ? compare_last_site(comparison, entry) : NULL;
    fprintf(text, " in %s", entry->name);
    if (site && site->frame_count) {
        finder_describe_place(site, place, sizeof place);
        fprintf(text, " at %s", place);
    }
}

/* Prints the largest changes of at least LEAST_CHANGE for the better or, with `worse`, for the
 * worse. Returns their number. `before` precedes the first one. */
static int print_changes(FILE *text, const struct compare_result *comparison, int run, bool worse,
                         const char *before)
{
    enum { MOST = 2 };
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    const struct compare_table *table =
        sites->entry_count ? sites : &comparison->tables[COMPARE_FUNCTIONS];
    const double least = LEAST_CHANGE * elapsed(comparison, 0), sign = worse ? 1 : -1;
    const double useful =
        sign * growth(comparison, comparison->tables[COMPARE_TOTALS].entries, USEFUL, run);
    double last = INFINITY;
    int count = 0;
    bool told = useful < least; /* The change outside MPI is printed, or too small for that. */
    for (; count < MOST; count++) {
        const struct compare_entry *found = NULL;
        double most = 0;
        for (size_t i = 0; i < table->entry_count; i++) {
            const double change = sign * growth(comparison, &table->entries[i], TIME, run);
            if (change > most && change < last) {
                most = change;
                found = &table->entries[i];
            }
        }
        const bool is_outside = !told && useful >= most;
        if (!is_outside && (!found || most < least))
            break;
        fprintf(text, "%s%s %s", count ? ", " : before, units_time(is_outside ? useful : most),
                worse ? "more" : "less");
        if (is_outside) {
            fputs(" outside MPI", text);
            told = true;
        } else {
            print_place(text, comparison, found);
            last = most;
        }
    }
    return count;
}

void compare_describe(const struct compare_result *comparison, int run, char *sentence, size_t size)
{
    FILE *text = fmemopen(sentence, size - 1, "w");
    const bool is_slower = elapsed(comparison, run) > elapsed(comparison, 0);
    sentence[0] = sentence[size - 1] = '\0';
    if (!text)
        return;
    if (!(elapsed(comparison, 0) > 0) || !(elapsed(comparison, run) > 0)) {
        fclose(text);
        return;
    }
    print_speed(text, comparison, run);
    print_changes(text, comparison, run, is_slower, ": ");
    if (!print_changes(text, comparison, run, !is_slower, "; "))
        fprintf(text, "; nothing of 1 %% or more got %s", is_slower ? "better" : "worse");
    fclose(text);
}

/* ---- Changes of findings --------------------------------------------------------------------- */

static const struct compare_entry *find_entry(const struct compare_result *comparison, int run,
                                              const struct profile_finding *finding)
{
    const struct compare_table *sites = &comparison->tables[COMPARE_CALLSITES];
    for (size_t i = 0; finding->site && i < sites->entry_count; i++) {
        if (sites->entries[i].sites[run] == finding->site)
            return &sites->entries[i];
    }
    return NULL;
}

static bool has_grown_in(const struct compare_result *comparison, const struct compare_entry *entry,
                         int figure, int run)
{
    const double least_part = 0.2; /* of the time in the first run; less may be chance */
    const double before = compare_value(comparison, entry, figure, 0);
    return growth(comparison, entry, figure, run) > least_part * before;
}

/* Returns whether the time at the call site of a finding has grown, on average or on the rank where
 * it is longest, or whether there is no call site. Otherwise, the finding has appeared only because
 * the run has become shorter. */
static bool has_grown(const struct compare_result *comparison, int run,
                      const struct profile_finding *finding)
{
    const struct compare_entry *entry = find_entry(comparison, run, finding);
    return !entry || has_grown_in(comparison, entry, TIME, run) ||
           has_grown_in(comparison, entry, TIME_MAX, run);
}

enum compare_change compare_change_of(const struct compare_result *comparison,
                                      const struct compare_finding *pair)
{
    const int last = comparison->run_count - 1;
    for (int run = 1; run <= last && !pair->runs[0]; run++) {
        if (pair->runs[run] && has_grown(comparison, run, pair->runs[run]))
            return COMPARE_NEW;
    }
    return pair->runs[0] && !pair->runs[last] ? COMPARE_GONE : COMPARE_STILL;
}
