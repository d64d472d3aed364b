/* SPDX-License-Identifier: MIT */
/* See snapshot_parts.h: the time in MPI by windows of the run. */
#include "collect/snapshot_parts.h"

#include "record/regions.h"
#include "toolkit/toolkit.h"

#include <math.h>
#include <stdlib.h>

struct sums {
    struct windows on, mpi; /* application time; in MPI, of all threads */
};

static void add_flights(struct sums *sums, const struct layer *layer,
                        const struct flights_seen *flights)
{
    for (size_t i = 0; i < flights->count && regions_have_begun(&layer->regions); i++) {
        const struct flight_seen *flight = &flights->all[i];
        struct stats stats;
        if (flight->outermost && flight_stats(flight, &stats))
            windows_add(&sums->mpi, &layer->regions.scale, flight->since - flight->wait,
                        flight->since + flight->time);
    }
}

static void add_all(struct sums *sums, const struct layer *layer,
                    const struct flights_seen *flights)
{
    const struct regions *regions = &layer->regions;
    windows_sum(&sums->on, &regions->on_windows);
    if (regions->on_since)
        windows_add(&sums->on, &regions->scale, regions->on_since, flights->moment);
    for (const struct thread *thread = threads_first(layer->tool_id); thread; thread = thread->next)
        windows_sum(&sums->mpi, &thread->windows);
    add_flights(sums, layer, flights);
    windows_widen(&sums->on, &sums->mpi);
    windows_widen(&sums->mpi, &sums->on);
}

/* Up to the last one with application time. */
static size_t count_windows(const struct windows *on)
{
    size_t count = PROFILE_WINDOWS_MOST;
    while (count && !windows_get(on, count - 1))
        count--;
    return count;
}

static bool was_always_on(const struct windows *on, size_t count, uint64_t width)
{
    size_t whole = 0;
    while (whole + 1 < count && windows_get(on, whole) == width)
        whole++;
    return whole + 1 >= count;
}

static bool fill(struct profile_window_rank *rank, const struct sums *sums,
                 const struct layer *layer, double tick)
{
    const double threads = build_thread_count(layer, -1);
    const uint64_t width = layer->regions.scale.width << sums->on.doublings;
    struct profile_windows_rounding rounding = {0, 0};
    rank->rank = layer->rank;
    rank->count = count_windows(&sums->on);
    rank->mpi = calloc(rank->count + 1, 1);
    if (!was_always_on(&sums->on, rank->count, width))
        rank->profiled = calloc(rank->count + 1, 1);
    if (!rank->mpi || (!rank->profiled && !was_always_on(&sums->on, rank->count, width)))
        return false;
    for (size_t i = 0; i < rank->count; i++) {
        const struct profile_window window = {
            (double)windows_get(&sums->on, i) * tick,
            (double)windows_get(&sums->mpi, i) * tick / threads,
        };
        profile_window_set(&rounding, rank, (double)width * tick, i, window);
    }
    return true;
}

bool build_windows(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick)
{
    struct sums *sums = calloc(1, sizeof *sums);
    struct profile_windows *windows = &result->windows;
    windows->ranks = calloc(1, sizeof *windows->ranks);
    const bool room = sums && windows->ranks;
    if (room) {
        windows->rank_count = 1;
        add_all(sums, layer, flights);
        windows->width = ldexp(PROFILE_WINDOW_WIDTH, (int)sums->on.doublings);
    }
    const bool good = room && fill(windows->ranks, sums, layer, tick);
    free(sums);
    return good;
}
