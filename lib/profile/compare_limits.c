/* SPDX-License-Identifier: MIT */
/* See comparison.h: by how much the figures of a run may be worse than those of the base. */
#include "profile/comparison.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { CRITERIA = 10 };

const char *const profile_limit_names[CRITERIA + 1] = {
    "time",          "mpi",           "efficiency", "load-balance",
    "communication", "serialisation", "transfer",   "calls",
    "bytes",         "memory",        NULL};

/* Where their values are, in the same order. */
static const struct criterion {
    enum compare_kind kind;
    const char *figure;
    bool falls; /* it is worse if it is less */
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

double compare_worsening(const struct profile_comparison *comparison, const char *limit, int run)
{
    int number = 0;
    while (strcmp(profile_limit_names[number], limit) != 0)
        number++;
    const struct criterion *it = &criteria[number];
    const struct compare_table *table = &comparison->tables[it->kind];
    const int figure = compare_figure_find(table, it->figure);
    const double base = compare_value(comparison, table->entries, figure, 0);
    const double value = compare_value(comparison, table->entries, figure, run);
    const double more = it->falls ? base - value : value - base;
    return base > 0 ? 100 * more / base : isnan(more) ? NAN : more > 0 ? INFINITY : 0;
}

bool compare_exceeds(const struct profile_comparison *comparison, const struct compare_limit *limit,
                     int run)
{
    enum { ROUNDING = 1000000000 }; /* what times lose when they are written */
    return compare_worsening(comparison, limit->name, run) > limit->percent + 1.0 / ROUNDING;
}
