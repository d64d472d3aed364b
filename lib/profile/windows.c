/* SPDX-License-Identifier: MIT */
/* See windows.h. */
#include "profile/windows.h"

#include <math.h>

/* ---- One rank -------------------------------------------------------------------------------- */

/* `part` of `whole`, and what was rounded off in the last window, as a byte. */
static unsigned char round_part(double *rounding, double part, double whole)
{
    const double wanted = part + *rounding;
    const double share = whole > 0 ? wanted / whole : 0;
    const double units = fmin(fmax(round(share * PROFILE_WINDOW_WHOLE), 0), PROFILE_WINDOW_WHOLE);
    *rounding = wanted - units / PROFILE_WINDOW_WHOLE * whole;
    return (unsigned char)units;
}

static double profiled_in(const struct profile_window_rank *rank, double width, size_t number)
{
    if (number + 1 == rank->count)
        return rank->last;
    return rank->profiled ? rank->profiled[number] * width / PROFILE_WINDOW_WHOLE : width;
}

void profile_window_set(struct profile_windows_rounding *rounding, struct profile_window_rank *rank,
                        double width, size_t number, struct profile_window window)
{
    if (number + 1 == rank->count)
        rank->last = window.profiled;
    if (rank->profiled)
        rank->profiled[number] = round_part(&rounding->profiled, window.profiled, width);
    rank->mpi[number] = round_part(&rounding->mpi, window.mpi, profiled_in(rank, width, number));
}

struct profile_window profile_window_get(const struct profile_windows *windows,
                                         const struct profile_window_rank *rank, size_t number)
{
    if (number >= rank->count)
        return (struct profile_window){0, 0};
    const double profiled = profiled_in(rank, windows->width, number);
    return (struct profile_window){profiled, profiled * rank->mpi[number] / PROFILE_WINDOW_WHOLE};
}

/* ---- All ranks ------------------------------------------------------------------------------- */

size_t profile_windows_count(const struct profile_windows *windows)
{
    size_t count = 0;
    for (size_t i = 0; i < windows->rank_count; i++) {
        if (windows->ranks[i].count > count)
            count = windows->ranks[i].count;
    }
    return count;
}

/* In place: what is read lies behind what is written. */
static void widen_rank(const struct profile_windows *windows, struct profile_window_rank *rank)
{
    const struct profile_window_rank before = *rank;
    struct profile_windows_rounding rounding = {0, 0};
    rank->count = (before.count + 1) / 2;
    for (size_t i = 0; i < rank->count; i++) {
        const struct profile_window a = profile_window_get(windows, &before, 2 * i);
        const struct profile_window b = profile_window_get(windows, &before, 2 * i + 1);
        const struct profile_window both = {a.profiled + b.profiled, a.mpi + b.mpi};
        profile_window_set(&rounding, rank, 2 * windows->width, i, both);
    }
}

void profile_windows_widen(struct profile_windows *windows)
{
    for (size_t i = 0; i < windows->rank_count; i++)
        widen_rank(windows, &windows->ranks[i]);
    windows->width *= 2;
}

/* Widths differ by a power of two. */
void profile_windows_equalize(struct profile_windows *mine, struct profile_windows *its)
{
    if (!mine->rank_count)
        mine->width = its->width;
    while (mine->width < its->width && mine->width > 0)
        profile_windows_widen(mine);
    while (its->width < mine->width && its->width > 0)
        profile_windows_widen(its);
}

bool profile_windows_find(const struct profile_windows *windows, size_t first, size_t end,
                          struct profile_window_efficiency *efficiency)
{
    double sum = 0, most = 0;
    *efficiency = (struct profile_window_efficiency){.most_rank = -1};
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window_rank *rank = &windows->ranks[i];
        double profiled = 0, useful = 0;
        for (size_t number = first; number < end; number++) {
            const struct profile_window window = profile_window_get(windows, rank, number);
            profiled += window.profiled;
            useful += window.profiled - window.mpi;
        }
        efficiency->elapsed = fmax(efficiency->elapsed, profiled);
        if (useful > most || !i) {
            most = useful;
            efficiency->most_rank = rank->rank;
        }
        sum += useful;
    }
    if (!(efficiency->elapsed > 0))
        return false;
    const double mean = sum / (double)windows->rank_count;
    efficiency->parallel = mean / efficiency->elapsed;
    efficiency->communication = most / efficiency->elapsed;
    efficiency->balance = most > 0 ? mean / most : 1;
    return true;
}
