/* SPDX-License-Identifier: MIT */
/* See text_parts.h: efficiency over time. */
#include "profile/columns.h"
#include "profile/text_parts.h"
#include "profile/units.h"
#include "profile/windows.h"

#include <math.h>
#include <string.h>

enum { PERIODS = 20, PERIODS_BRIEFLY = 10, BAR = 20 };

/* Neighbouring windows share a period. */
struct periods {
    const struct profile_windows *windows;
    size_t count, each; /* periods; windows in each */
    double least, most; /* parallel efficiency */
    bool varies;
};

static bool find_period(const struct periods *periods, size_t period,
                        struct profile_window_efficiency *it)
{
    return profile_windows_find(periods->windows, period * periods->each,
                                (period + 1) * periods->each, it);
}

/* It varies if periods that are far from the efficiency of the run are a considerable part of it.
 */
static struct periods find_periods(const struct profile_windows *windows, size_t most)
{
    const double far = 0.1, part = 0.1;
    const size_t count = profile_windows_count(windows);
    struct periods periods = {.windows = windows, .each = (count + most - 1) / most, .least = 1};
    struct profile_window_efficiency all, it;
    double deviating = 0;
    if (!profile_windows_find(windows, 0, count, &all))
        return periods;
    periods.count = (count + periods.each - 1) / periods.each;
    for (size_t period = 0; period < periods.count; period++) {
        if (!find_period(&periods, period, &it))
            continue;
        if (fabs(it.parallel - all.parallel) > far)
            deviating += it.elapsed;
        if (period + 1 == periods.count && periods.count > 1)
            continue; /* it may be very short */
        periods.least = fmin(periods.least, it.parallel);
        periods.most = fmax(periods.most, it.parallel);
    }
    periods.varies = deviating > part * all.elapsed;
    return periods;
}

static void add_period(struct columns *columns, const struct periods *periods, size_t period)
{
    struct profile_window_efficiency it;
    char bar[BAR + 1] = "";
    columns_add(columns, "%s",
                units_time((double)(period * periods->each) * periods->windows->width));
    if (!find_period(periods, period, &it)) {
        columns_add_all(columns, (const char *const[]){"-", "-", "-", "", "", NULL});
        return;
    }
    columns_add(columns, "%.3f", it.parallel);
    columns_add(columns, "%.3f", it.balance);
    columns_add(columns, "%.3f", it.communication);
    columns_add(columns, "rank %d", it.most_rank);
    memset(bar, '#', (size_t)fmin(fmax(round(it.parallel * BAR), 0), BAR));
    columns_add(columns, "%s", bar);
}

bool text_windows(const struct text *text, bool briefly)
{
    static const char *const headings[] = {
        "from", "parallel", "load balance", "communication", "most work", "parallel, 0 to 1", NULL};
    const struct periods periods =
        find_periods(&text->result->windows, briefly ? PERIODS_BRIEFLY : PERIODS);
    struct columns columns;
    if (!periods.count || (briefly && periods.count < PERIODS_BRIEFLY / 2))
        return true;
    fprintf(text->stream, "\nEfficiency over time");
    if (briefly && !periods.varies) {
        fprintf(text->stream, ": parallel efficiency %.2f to %.2f throughout\n", periods.least,
                periods.most);
        return true;
    }
    fprintf(text->stream, ", every %s\n",
            units_time((double)periods.each * periods.windows->width));
    columns_start(&columns, "rrrrrl");
    columns_add_all(&columns, headings);
    for (size_t period = 0; period < periods.count; period++)
        add_period(&columns, &periods, period);
    return columns_print(&columns, text->stream, text->width);
}
