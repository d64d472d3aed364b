/* SPDX-License-Identifier: MIT */
/* See rank_result.h. rank_calls.c, rank_flights.c and rank_outside.c make the parts of the result
 * that consist of calls. */
#define _GNU_SOURCE
#include "tools/profile/collect/rank_result.h"

#include "toolkit/toolkit.h"
#include "tools/profile/collect/rank_calls.h"
#include "tools/profile/record/objects.h"
#include "tools/profile/record/processor.h"
#include "tools/profile/record/receives.h"
#include "tools/profile/record/regions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- Peers, communicators, files ------------------------------------------------------------- */

static bool sum_matrix(const struct layer *layer, struct table *sum)
{
    bool good = table_make(sum, 1, sizeof(struct thread_matrix_row));
    for (const struct thread_profile *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (const struct thread_matrix_row *its;
             good && (its = table_next(&thread->matrix, &place));) {
            struct thread_matrix_row *cell = table_get(sum, &its->key, 1);
            good = cell != NULL;
            if (good) {
                cell->messages += __atomic_load_n(&its->messages, __ATOMIC_RELAXED);
                cell->bytes += __atomic_load_n(&its->bytes, __ATOMIC_RELAXED);
            }
        }
    }
    return good;
}

/* If a rank both sends to itself and reads from its own window, both are added to one cell. */
static bool build_matrix(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    const struct layer *layer = build->layer;
    struct table sum = {0};
    struct table_place place = {0};
    bool good = sum_matrix(layer, &sum);
    result->matrix = good ? calloc(sum.count + 1, sizeof *result->matrix) : NULL;
    struct profile_matrix_entry *self = NULL;
    for (const struct thread_matrix_row *its; result->matrix && (its = table_next(&sum, &place));) {
        const int other = (int)(its->key >> 1);
        struct profile_matrix_entry *cell =
            other == layer->rank && self ? self : &result->matrix[result->matrix_entry_count++];
        cell->from = its->key & 1 ? layer->rank : other;
        cell->to = its->key & 1 ? other : layer->rank;
        cell->messages += its->messages;
        cell->bytes += its->bytes;
        if (other == layer->rank)
            self = cell;
    }
    table_free(&sum);
    return result->matrix != NULL;
}

static bool sum_comms(struct table *sums, const struct rank_build *build)
{
    bool good = objects_sum_comms(build->layer, sums);
    for (size_t i = 0; good && i < build->flights->count; i++) {
        const struct flight_seen *flight = &build->flights->all[i];
        struct thread_stats stats;
        good = !flight_stats(flight, &stats) ||
               objects_add_to_comm(build->layer, sums, flight->comm, &stats);
    }
    return good;
}

static bool build_communicators(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    struct table sums = {0};
    struct table_place place = {0};
    bool good = sum_comms(&sums, build);
    result->communicators = good ? calloc(sums.count + 1, sizeof *result->communicators) : NULL;
    good = result->communicators != NULL;
    for (const struct layer_comm_sum *its; good && (its = table_next(&sums, &place));) {
        if (!its->stats.calls)
            continue; /* No call on the communicator was counted. */
        struct profile_communicator *comm = &result->communicators[result->communicator_count++];
        *comm = (struct profile_communicator){.size = its->comm.size,
                                              .first = its->comm.first,
                                              .members = its->comm.members,
                                              .instances = its->instances,
                                              .name = strdup(its->comm.name)};
        rank_calls_convert(&comm->calls, &its->stats, build);
        good = comm->name != NULL;
    }
    table_free(&sums);
    return good;
}

static void add_flights_to_file(struct thread_stats *sum, int number,
                                const struct rank_build *build)
{
    for (size_t i = 0; i < build->flights->count; i++) {
        const struct flight_seen *flight = &build->flights->all[i];
        struct thread_stats stats;
        if (flight->file && handles_find(&build->layer->files.handles, flight->file) == number &&
            flight_stats(flight, &stats))
            thread_stats_add(sum, &stats);
    }
}

static bool build_files(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    const struct layer_files *files = &build->layer->files;
    result->files = calloc((size_t)files->count + 1, sizeof *result->files);
    for (int number = 0; result->files && number < files->count; number++) {
        struct thread_stats stats = {0};
        objects_sum_file(build->layer, number, &stats);
        add_flights_to_file(&stats, number, build);
        if (!stats.calls && !files->all[number].opens)
            continue;
        struct profile_file *file = &result->files[result->file_count++];
        *file = (struct profile_file){.name = strdup(files->all[number].name),
                                      .opens = files->all[number].opens,
                                      .read = stats.received,
                                      .written = stats.sent};
        rank_calls_convert(&file->calls, &stats, build);
        if (!file->name)
            return false;
    }
    return result->files != NULL;
}

/* ---- Windows of time ------------------------------------------------------------------------- */

struct window_sums {
    struct windows on, mpi; /* the application time, and the time of all threads in MPI */
};

static void add_flights_to_windows(struct window_sums *sums, const struct rank_build *build)
{
    const struct layer_regions *regions = &build->layer->regions;
    for (size_t i = 0; i < build->flights->count && regions_have_begun(regions); i++) {
        const struct flight_seen *flight = &build->flights->all[i];
        struct thread_stats stats;
        if (flight->outermost && flight_stats(flight, &stats))
            windows_add(&sums->mpi, &regions->scale, flight->since - flight->wait,
                        flight->since + flight->time);
    }
}

static void sum_windows(struct window_sums *sums, const struct rank_build *build)
{
    const struct layer *layer = build->layer;
    const struct layer_regions *regions = &layer->regions;
    windows_sum(&sums->on, &regions->on_windows);
    if (regions->on_since)
        windows_add(&sums->on, &regions->scale, regions->on_since, build->flights->moment);
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread;
         thread = thread->next)
        windows_sum(&sums->mpi, &thread->windows);
    add_flights_to_windows(sums, build);
    windows_widen(&sums->on, &sums->mpi);
    windows_widen(&sums->mpi, &sums->on);
}

/* Returns the number of windows up to the last one with application time. */
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

static bool fill_window_rank(struct profile_window_rank *rank, const struct window_sums *sums,
                             const struct rank_build *build)
{
    const struct layer *layer = build->layer;
    const double tick = build->tick;
    const double threads = rank_thread_count(layer);
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

static bool build_windows(const struct rank_build *build)
{
    struct window_sums *sums = calloc(1, sizeof *sums);
    struct profile_windows *windows = &build->result->windows;
    windows->ranks = calloc(1, sizeof *windows->ranks);
    const bool room = sums && windows->ranks;
    if (room) {
        windows->rank_count = 1;
        sum_windows(sums, build);
        windows->width = ldexp(PROFILE_WINDOW_WIDTH, (int)sums->on.doublings);
    }
    const bool good = room && fill_window_rank(windows->ranks, sums, build);
    free(sums);
    return good;
}

/* ---- The process ----------------------------------------------------------------------------- */

/* The figures that the kernel counts for the process. A forked child cannot ask for them: its own
 * peak of memory, for instance, covers only what was in use when it was forked. */
struct kernel_figures {
    bool is_known;
    uint64_t peak_memory;
    struct processor_usage processor;
    char processors[PROCESSOR_LIST_MAX];
};
static struct kernel_figures parent_figures;

static void find_kernel_figures(struct kernel_figures *figures)
{
    struct rusage usage;
    if (parent_figures.is_known) {
        *figures = parent_figures;
        return;
    }
    figures->is_known = true;
    figures->peak_memory = getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
    processor_read(&figures->processor);
    processor_list(figures->processors);
}

void rank_result_prepare_fork(void)
{
    struct kernel_figures figures;
    find_kernel_figures(&figures);
    parent_figures = figures;
}

/* The kernel also counts while profiling is off, and while MPI_Finalize waits for other ranks. The
 * kernel's times are therefore reduced in proportion. */
static void limit_to_application(struct profile_process *process, double elapsed)
{
    const double part = elapsed > process->application ? process->application / elapsed : 1;
    process->processor_time *= part;
    process->queued *= part;
}

static bool build_process(const struct rank_build *build, const char *termination)
{
    struct profile_result *result = build->result;
    const struct layer *layer = build->layer;
    const uint64_t application = regions_time(&layer->regions, build->flights->moment);
    const uint64_t mpi = rank_mpi_ticks(layer) + rank_flight_mpi_ticks(build);
    struct profile_process *process = calloc(1, sizeof *process);
    struct kernel_figures figures;
    result->processes = process;
    if (!process)
        return false;
    find_kernel_figures(&figures);
    result->process_count = 1;
    *process = (struct profile_process){
        .rank = layer->rank,
        .host = rank_host(),
        .application = (double)application * build->tick,
        .off = (double)regions_off_time(&layer->regions, build->flights->moment) * build->tick,
        .mpi = (double)mpi * build->tick,
        .memory = figures.peak_memory,
        .processor_time = figures.processor.time,
        .queued = figures.processor.queued,
        .preemptions = figures.processor.preemptions,
        .processors = *figures.processors ? strdup(figures.processors) : NULL,
        .termination = termination ? strdup(termination) : NULL,
    };
    limit_to_application(process, figures.processor.elapsed);
    process->useful = rank_useful(rank_thread_count(layer), process->application, process->mpi);
    result->application = rank_spread(process->application, layer->rank);
    result->time = rank_spread(process->mpi, layer->rank);
    return process->host && (process->processors || !*figures.processors) &&
           (process->termination || !termination);
}

static bool build_head(const struct rank_build *build, const char *termination)
{
    struct profile_result *result = build->result;
    const struct layer *layer = build->layer;
    result->tool_id = layer->tool_id;
    result->ranks = 1;
    result->rank = layer->rank;
    result->every_rank = layer->options.every_rank;
    result->thresholds = layer->options.thresholds;
    result->program = strdup(layer->program ? layer->program : "");
    result->command = layer->command ? strdup(layer->command) : NULL;
    result->job = tool_run_job() ? strdup(tool_run_job()) : NULL;
    result->batch_job = tool_run_batch_step() ? strdup(tool_run_batch_step()) : NULL;
    result->user = strdup(tool_run_user());
    result->mpi = strdup(layer->mpi ? layer->mpi : "");
    result->begin = strdup(layer->begin);
    result->termination = termination ? strdup(termination) : NULL;
    result->unfinished_receives = receives_unfinished(layer->tool_id);
    return result->program && result->mpi && result->begin && result->user &&
           (!termination || result->termination) && environment_copy(&layer->environment, result);
}

/* Returns NULL if memory is exhausted. */
static struct profile_result *build_result(const struct layer *layer, const char *termination,
                                           const struct flights_seen *flights)
{
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    const struct rank_build build = {result, layer, flights, ticks_length()};
    const bool good =
        build_head(&build, termination) && rank_build_functions(&build) &&
        rank_build_regions(&build) && rank_build_callsites(&build) && rank_build_outside(&build) &&
        build_matrix(&build) && build_communicators(&build) && build_files(&build) &&
        build_process(&build, termination) && build_windows(&build) && rank_build_flights(&build);
    if (good)
        return result;
    profile_result_free(result);
    return NULL;
}

/* A call that ends meanwhile may be counted both as ended and as in progress. In this case the
 * result is made again, without the call in the list of calls in progress. All times that still go
 * on count up to flights.moment. */
struct profile_result *rank_result_make(struct layer *layer, const char *termination, bool crashed)
{
    struct profile_result *result = NULL;
    const bool locked = layer_lock(layer, crashed);
    struct flights_seen flights = {ticks_now(), NULL, 0};
    if (!termination || flights_see(&flights, layer->tool_id)) {
        while ((result = build_result(layer, termination, &flights)) &&
               !flights_see_again(&flights))
            profile_result_free(result);
    }
    layer_unlock(layer, locked);
    free(flights.all);
    return result;
}
