/* SPDX-License-Identifier: MIT */
/* See csv_row.h: efficiency over time. */
#include "profile/csv_row.h"
#include "profile/windows.h"

static void put_efficiency(struct row *row, const struct profile_windows *windows, size_t number)
{
    static const char *const names[] = {"parallel", "communication", "load_balance"};
    struct profile_window_efficiency it;
    if (!profile_windows_find(windows, number, number + 1, &it))
        return;
    const double values[] = {it.parallel, it.communication, it.balance};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        row_set_text(row, COLUMN_name, names[i]);
        row_set_real(row, COLUMN_at_least, windows->width * (double)number);
        row_set_real(row, COLUMN_value, values[i]);
        row_put(row, "window");
    }
}

static void put_rank(struct row *row, const struct profile_windows *windows,
                     const struct profile_window_rank *rank)
{
    for (size_t number = 0; number < rank->count; number++) {
        const struct profile_window window = profile_window_get(windows, rank, number);
        row_set_number(row, COLUMN_rank, rank->rank);
        row_set_real(row, COLUMN_at_least, windows->width * (double)number);
        row_set_real(row, COLUMN_application, window.profiled);
        row_set_real(row, COLUMN_mpi, window.mpi);
        row_put(row, "window_rank");
    }
}

void row_put_windows(struct row *row, const struct profile_result *result)
{
    const struct profile_windows *windows = &result->windows;
    const size_t count = profile_windows_count(windows);
    for (size_t i = 0; i < count; i++)
        put_efficiency(row, windows, i);
    if (windows->rank_count > PROFILE_OUTLIERS && !result->every_rank)
        return;
    for (size_t i = 0; i < windows->rank_count; i++)
        put_rank(row, windows, &windows->ranks[i]);
}
