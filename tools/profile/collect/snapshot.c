/* SPDX-License-Identifier: MIT */
/* See snapshot.h. */
#define _GNU_SOURCE
#include "collect/snapshot.h"

#include "collect/snapshot_parts.h"
#include "path/now.h"
#include "record/comms.h"
#include "record/files.h"
#include "record/receives.h"
#include "record/regions.h"
#include "toolkit/toolkit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct profile_spread build_spread(double value, int rank)
{
    return (struct profile_spread){value, value, value, value, 0, rank, rank};
}

#define IN_TIME(TICKS) ((double)(TICKS)*tick)
#define IN_COUNT(COUNT) ((double)(COUNT))
#define BUILD_FIGURE(NAME, UNIT, COMBINE, HEADING, SINCE) .NAME = IN_##UNIT(stats->NAME),

void build_calls(struct profile_calls *calls, const struct stats *stats, double tick, int rank)
{
    *calls = (struct profile_calls){
        .calls = stats->calls,
        .time = build_spread((double)stats->time * tick, rank),
        PROFILE_FIGURES(BUILD_FIGURE).wait = build_spread((double)stats->wait * tick, rank),
        .sent = stats->sent,
        .received = stats->received,
    };
}

/* ---- Peers, communicators, files ------------------------------------------------------------- */

static bool sum_matrix(const struct layer *layer, struct table *sum)
{
    bool good = table_make(sum, 1, sizeof(struct matrix_row));
    for (const struct thread *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (const struct matrix_row *its; good && (its = table_next(&thread->matrix, &place));) {
            struct matrix_row *cell = table_get(sum, &its->key, 1);
            good = cell != NULL;
            if (good) {
                cell->messages += __atomic_load_n(&its->messages, __ATOMIC_RELAXED);
                cell->bytes += __atomic_load_n(&its->bytes, __ATOMIC_RELAXED);
            }
        }
    }
    return good;
}

/* A rank may write to itself and read from itself: one cell. */
static bool build_matrix(struct profile_result *result, const struct layer *layer)
{
    struct table sum = {0};
    struct table_place place = {0};
    bool good = sum_matrix(layer, &sum);
    result->matrix = good ? calloc(sum.count + 1, sizeof *result->matrix) : NULL;
    struct profile_matrix_entry *self = NULL;
    for (const struct matrix_row *its; result->matrix && (its = table_next(&sum, &place));) {
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

static bool build_communicators(struct profile_result *result, struct layer *layer,
                                const struct flights_seen *flights, double tick)
{
    struct table sum = {0};
    struct table_place place = {0};
    bool good = comms_sum(layer, flights, &sum);
    result->communicators = good ? calloc(sum.count + 1, sizeof *result->communicators) : NULL;
    good = result->communicators != NULL;
    for (const struct freed_comm *its; good && (its = table_next(&sum, &place));) {
        if (!its->stats.calls)
            continue; /* seen while profiling was off */
        struct profile_communicator *comm = &result->communicators[result->communicator_count++];
        *comm = (struct profile_communicator){.size = its->comm.size,
                                              .first = its->comm.first,
                                              .members = its->comm.members,
                                              .instances = its->instances,
                                              .name = strdup(its->comm.name)};
        build_calls(&comm->calls, &its->stats, tick, layer->rank);
        good = comm->name != NULL;
    }
    table_free(&sum);
    return good;
}

static void add_flights(const struct files *files, int number, const struct flights_seen *flights,
                        struct stats *sum)
{
    for (size_t i = 0; i < flights->count; i++) {
        const struct flight_seen *flight = &flights->all[i];
        struct stats stats;
        if (flight->file && handles_find(&files->handles, flight->file) == number &&
            flight_stats(flight, &stats))
            stats_add(sum, &stats);
    }
}

static bool build_files(struct profile_result *result, const struct layer *layer,
                        const struct flights_seen *flights, double tick)
{
    const struct files *files = &layer->files;
    result->files = calloc((size_t)files->count + 1, sizeof *result->files);
    for (int number = 0; result->files && number < files->count; number++) {
        struct stats stats = {0};
        files_sum(layer, number, &stats);
        add_flights(files, number, flights, &stats);
        if (!stats.calls && !files->all[number].opens)
            continue;
        struct profile_file *file = &result->files[result->file_count++];
        *file = (struct profile_file){.name = strdup(files->all[number].name),
                                      .opens = files->all[number].opens,
                                      .read = stats.received,
                                      .written = stats.sent};
        build_calls(&file->calls, &stats, tick, layer->rank);
        if (!file->name)
            return false;
    }
    return result->files != NULL;
}

/* ---- The process ----------------------------------------------------------------------------- */

static double time_in_mpi(const struct layer *layer, const struct flights_seen *flights,
                          double tick)
{
    return (double)(build_share(layer, -1) + build_flight_share(layer, flights)) * tick;
}

char *build_host(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strdup(host);
}

static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static bool build_process(struct profile_result *result, const struct layer *layer,
                          const struct flights_seen *flights, double tick)
{
    struct profile_process *process = calloc(1, sizeof *process);
    result->processes = process;
    if (!process)
        return false;
    result->process_count = 1;
    *process = (struct profile_process){
        .rank = layer->rank,
        .host = build_host(),
        .application = (double)regions_time(&layer->regions, flights->moment) * tick,
        .mpi = time_in_mpi(layer, flights, tick),
        .memory = peak_memory(),
    };
    process->useful = build_useful(layer, -1, process->application, process->mpi);
    if (layer->path) {
        const double path = path_clocks_to_seconds(path_now(layer));
        process->path = path > process->useful ? path : process->useful;
    }
    result->application = build_spread(process->application, layer->rank);
    result->time = build_spread(process->mpi, layer->rank);
    return process->host != NULL;
}

static bool build_head(struct profile_result *result, const struct layer *layer,
                       const char *termination)
{
    result->tool_id = layer->tool_id;
    result->ranks = 1;
    result->rank = layer->rank;
    result->every_rank = layer->options.every_rank;
    result->thresholds = layer->options.thresholds;
    result->program = strdup(layer->program ? layer->program : "");
    result->mpi = strdup(layer->mpi ? layer->mpi : "");
    result->begin = strdup(layer->begin);
    result->termination = termination ? strdup(termination) : NULL;
    result->unfinished_receives = receives_unfinished(layer->tool_id);
    return result->program && result->mpi && result->begin && (!termination || result->termination);
}

/* NULL: memory is out. */
static struct profile_result *build_with(struct layer *layer, const char *termination,
                                         const struct flights_seen *flights)
{
    const double tick = ticks_length();
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    const bool good =
        build_head(result, layer, termination) && build_functions(result, layer, flights, tick) &&
        build_regions(result, layer, flights, tick) &&
        build_callsites(result, layer, flights, tick) && build_matrix(result, layer) &&
        build_communicators(result, layer, flights, tick) &&
        build_files(result, layer, flights, tick) && build_process(result, layer, flights, tick) &&
        build_windows(result, layer, flights, tick) && build_flights(result, layer, flights, tick);
    if (good)
        return result;
    profile_result_free(result);
    return NULL;
}

/* A call that has ended meanwhile may have been counted both as one that has ended and as one under
 * way: then all is made anew without it. All times end at one moment. */
struct profile_result *build_result(struct layer *layer, const char *termination, bool crashed)
{
    struct profile_result *result = NULL;
    const bool locked = profile_lock(layer, crashed);
    struct flights_seen flights = {ticks_now(), NULL, 0};
    if (!termination || flights_see(&flights, layer->tool_id)) {
        while ((result = build_with(layer, termination, &flights)) && !flights_see_again(&flights))
            profile_result_free(result);
    }
    profile_unlock(layer, locked);
    free(flights.all);
    return result;
}
