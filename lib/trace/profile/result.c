/* SPDX-License-Identifier: MIT */
/* See process.h: the result of one process, as tools/profile/collect makes it. */
#define _GNU_SOURCE
#include "trace/profile/result_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool fill_process(const struct process_sums *sums, struct profile_result *result)
{
    struct profile_process *process = calloc(1, sizeof *process);
    result->processes = process;
    if (!process)
        return false;
    result->process_count = 1;
    *process = (struct profile_process){
        .rank = result_rank(sums),
        .host = strdup(sums->process->host),
        .application = (double)sums->on_time * result_tick(sums),
        .mpi = result_time_in_mpi(sums, RESULT_EVERYWHERE),
        .memory = sums->process->memory,
    };
    process->useful = result_useful(sums, RESULT_EVERYWHERE, process->application, process->mpi);
    result->application = sums_spread(process->application, process->rank);
    result->time = sums_spread(process->mpi, process->rank);
    return process->host != NULL;
}

static size_t count_windows(const struct time_windows *on)
{
    size_t count = PROFILE_WINDOWS_MOST;
    while (count && !on->times[count - 1])
        count--;
    return count;
}

static bool was_always_on(const struct time_windows *on, size_t count)
{
    size_t whole = 0;
    while (whole + 1 < count && on->times[whole] == on->width)
        whole++;
    return whole + 1 >= count;
}

static bool fill_windows(const struct process_sums *sums, struct profile_result *result)
{
    const double tick = result_tick(sums);
    struct time_windows on = sums->on, mpi = sums->mpi;
    time_windows_widen(&on, mpi.doublings);
    time_windows_widen(&mpi, on.doublings);
    const int threads = process_sums_threads(sums, RESULT_EVERYWHERE);
    struct profile_window_rank *rank = calloc(1, sizeof *rank);
    result->windows.ranks = rank;
    if (!rank)
        return false;
    result->windows.rank_count = 1;
    result->windows.width = ldexp(PROFILE_WINDOW_WIDTH, on.doublings);
    rank->rank = result_rank(sums);
    rank->count = count_windows(&on);
    rank->mpi = calloc(rank->count + 1, 1);
    if (!was_always_on(&on, rank->count)) {
        rank->profiled = calloc(rank->count + 1, 1);
        if (!rank->profiled)
            return false;
    }
    struct profile_windows_rounding rounding = {0, 0};
    for (size_t i = 0; rank->mpi && i < rank->count; i++) {
        const struct profile_window window = {(double)on.times[i] * tick,
                                              (double)mpi.times[i] * tick / threads};
        profile_window_set(&rounding, rank, (double)on.width * tick, i, window);
    }
    return rank->mpi != NULL;
}

/* A time in nanoseconds since the Epoch, and so many later. */
static char *format_time(int64_t start, double more, bool fraction)
{
    struct tm parts;
    char text[40], *whole;
    const double nanoseconds = (double)(start % 1000000000) + more,
                 seconds = (double)(start / 1000000000) + floor(nanoseconds * 1e-9);
    if (!(seconds > -1e11 && seconds < 1e11)) /* not in a file that is as it was written */
        return strdup("");
    const time_t second = (time_t)seconds;
    if (!gmtime_r(&second, &parts))
        return strdup("");
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!fraction)
        return asprintf(&whole, "%sZ", text) < 0 ? NULL : whole;
    const int ms = (int)((nanoseconds * 1e-9 - floor(nanoseconds * 1e-9)) * 1000);
    return asprintf(&whole, "%s.%03dZ", text, ms) < 0 ? NULL : whole;
}

/* Calls in progress when the process ended. */
static bool fill_flights(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < sums->location_count; i++)
        count += sums->locations[i].depth;
    result->flights = calloc(count + 1, sizeof *result->flights);
    for (size_t i = 0; result->flights && !sums->is_over && i < sums->location_count; i++) {
        const struct location_calls *location = &sums->locations[i];
        for (size_t k = 0; good && k < location->depth; k++) {
            const struct open_call *call = &location->all[k];
            struct profile_flight *flight = &result->flights[result->flight_count++];
            struct profile_callsite place = {0};
            const uint64_t end = process->end_ticks;
            const double since =
                ((double)call->begin - (double)process->start_ticks) * process->tick;
            good = call->site >= process->site_count ||
                   result_fill_frames(process, &process->sites[call->site], &place);
            flight->name = strdup(process->functions[call->function].name);
            flight->frames = place.frames;
            flight->frame_count = place.frame_count;
            flight->rank = result_rank(sums);
            flight->time = end > call->begin ? (double)(end - call->begin) * result_tick(sums) : 0;
            flight->since = format_time(process->started, since, true);
            good = good && flight->name && flight->since;
        }
    }
    return good && result->flights;
}

static char *find_termination(const struct trace_process *process)
{
    char *text;
    switch (process->end) {
    case TRACE_END_ABORT:
        return strdup("MPI_Abort");
    case TRACE_END_EXIT:
        return strdup("exit");
    case TRACE_END_SIGNAL:
        return asprintf(&text, "signal %s", process->end_detail ? process->end_detail : "") < 0
                   ? NULL
                   : text;
    default:
        return strdup("end of trace");
    }
}

static bool fill_head(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    result->tool_id = process->tool_id;
    result->ranks = 1;
    result->rank = result_rank(sums);
    result->program = strdup(process->program ? process->program : "");
    result->mpi = strdup(process->mpi ? process->mpi : "");
    result->begin = format_time(process->started, 0, false);
    result->unfinished_receives = sums->posted - sums->arrived;
    if (process->end != TRACE_END_FINALIZE && !sums->is_over) {
        result->termination = find_termination(process);
        if (!result->termination)
            return false;
    }
    return result->program && result->mpi && result->begin;
}

struct profile_result *process_sums_result(const struct process_sums *sums)
{
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    if (fill_head(sums, result) &&
        result_list_functions(sums, RESULT_EVERYWHERE, &result->functions,
                              &result->function_count) &&
        result_fill_regions(sums, result) && result_fill_callsites(sums, result) &&
        result_fill_matrix(sums, result) && result_fill_communicators(sums, result) &&
        result_fill_files(sums, result) && fill_process(sums, result) &&
        fill_windows(sums, result) && fill_flights(sums, result))
        return result;
    profile_result_free(result);
    return NULL;
}
