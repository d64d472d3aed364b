/* SPDX-License-Identifier: MIT */
/* See compare_text_parts.h: tables that have a column for each run. */
#include "profile/compare_text_parts.h"

#include "profile/columns.h"
#include "profile/units.h"

#include <math.h>
#include <string.h>

/* So many have room for the differences, too. */
enum { RUNS_WITH_DIFFERENCES = 3 };

static bool has_differences(const struct profile_comparison *comparison)
{
    return comparison->run_count <= RUNS_WITH_DIFFERENCES;
}

static const char *fill(char *at, char with, int count)
{
    memset(at, with, (size_t)count);
    return at + count;
}

/* Where several runs do not fit, the differences go first, then the ratios. */
static void start(struct columns *columns, int runs, bool differences)
{
    static _Thread_local char align[COLUMNS_MOST + 1], optional[COLUMNS_MOST + 1];
    const int later = runs - 1, amounts = differences ? later : 0;
    memset(align, 'r', sizeof align);
    memset(optional, '.', sizeof optional);
    align[0] = 'l';
    if (runs > 2) {
        fill(&optional[1 + runs], '1', amounts);
        fill(&optional[1 + runs + amounts], '2', later);
    }
    const int last = 1 + runs + amounts + later;
    align[last] = 'l';
    align[last + 1] = optional[last + 1] = '\0';
    columns_start(columns, align);
    columns_set_optional(columns, optional);
}

void compare_columns_start(struct columns *columns, const struct profile_comparison *comparison,
                           const char *heading)
{
    const int runs = comparison->run_count;
    const bool differences = has_differences(comparison);
    start(columns, runs, differences);
    columns_add(columns, "%s", heading);
    for (int run = 0; run < runs; run++)
        columns_add(columns, "%c", 'A' + run);
    for (int run = 1; run < runs && differences; run++)
        columns_add(columns, "%c - A", 'A' + run);
    for (int run = 1; run < runs; run++)
        columns_add(columns, "%c / A", 'A' + run);
    columns_add(columns, "%s", "");
}

static void add_value(struct columns *columns, enum compare_unit unit, double value,
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

static void add_ratio(struct columns *columns, double base, double value)
{
    if (base > 0 && !isnan(value))
        columns_add(columns, "%.*f", value / base < 99.95 ? 2 : 0, value / base);
    else
        columns_add(columns, "-");
}

static const char *describe(const struct profile_comparison *comparison,
                            const struct compare_entry *entry)
{
    return !entry->has[0] ? "new" : !entry->has[comparison->run_count - 1] ? "gone" : "";
}

void compare_columns_add(struct columns *columns, const struct profile_comparison *comparison,
                         const struct compare_entry *entry, int figure, enum compare_unit unit)
{
    const int runs = comparison->run_count;
    const double base = compare_value(comparison, entry, figure, 0);
    for (int run = 0; run < runs; run++) {
        const double value = compare_value(comparison, entry, figure, run);
        add_value(columns, unit, entry->has[run] ? value : NAN, false);
    }
    for (int run = 1; run < runs && has_differences(comparison); run++)
        add_value(columns, unit, compare_value(comparison, entry, figure, run) - base, true);
    for (int run = 1; run < runs; run++)
        add_ratio(columns, base, compare_value(comparison, entry, figure, run));
    columns_add(columns, "%s", describe(comparison, entry));
}
