/* SPDX-License-Identifier: MIT */
/* See rank_calls.h. */
#define _GNU_SOURCE
#include "tools/profile/collect/rank_calls.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/objects.h"
#include "tools/profile/record/receives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Communicators --------------------------------------------------------------------------- */

/* Translates a rank, as calls on the communicator use it, to MPI_COMM_WORLD. In an
 * intercommunicator, this is a rank of the remote group. Returns -1 if it is unknown. */
static int find_world_rank(const struct layer_comm *comm, int rank)
{
    return comm && comm->world && rank >= 0 && rank < comm->peers
               ? comm->world[comm->size - comm->peers + rank]
               : -1;
}

/* Returns a number of the communicator that is the same on all its members. Communicators without
 * an identity share a number if they have the same members. */
static uint64_t find_comm_number(const struct layer_comm *comm)
{
    return !comm ? 0 : comm->id ? comm->id : comm->members;
}

/* Returns the length of the longest run of ranks with a constant positive stride that begins at
 * `first`. */
static int find_run(const int *ranks, int count, int first)
{
    int end = first + 1;
    while (end < count && ranks[end] - ranks[end - 1] == ranks[first + 1] - ranks[first] &&
           ranks[first] >= 0 && ranks[first + 1] > ranks[first])
        end++;
    return end - first;
}

/* Writes as many ranks, from the index `first` on, as one range can name. Returns their number. Two
 * ranks form a range only if they are neighbours. */
static int print_range(FILE *stream, const int *ranks, int count, int first)
{
    const int run = find_run(ranks, count, first);
    const int step = run > 1 ? ranks[first + 1] - ranks[first] : 1;
    const char *comma = first ? "," : "";
    if (run < 3 && step > 1) {
        fprintf(stream, "%s%d", comma, ranks[first]);
        return 1;
    }
    if (run == 1)
        fprintf(stream, "%s%d", comma, ranks[first]);
    else if (step == 1)
        fprintf(stream, "%s%d-%d", comma, ranks[first], ranks[first + run - 1]);
    else
        fprintf(stream, "%s%d-%d:%d", comma, ranks[first], ranks[first + run - 1], step);
    return run;
}

/* Returns the ranks of the members as text, or NULL if they are unknown or the text would be too
 * long. */
static char *list_members(const struct layer_comm *comm)
{
    enum { LONGEST = 4096 };
    char *text = NULL;
    size_t length = 0;
    if (!comm || !comm->world)
        return NULL;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream != NULL;
    for (int i = 0; good && i < comm->size;) {
        good = comm->world[i] >= 0 && ftell(stream) < LONGEST;
        if (good)
            i += print_range(stream, comm->world, comm->size, i);
    }
    if (stream && fclose(stream) == 0 && good)
        return text;
    free(text);
    return NULL;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static bool fill_awaits(struct profile_flight *to, const struct flight_seen *flight,
                        const struct layer *layer)
{
    to->awaits = calloc((size_t)flight->await_count + 1, sizeof *to->awaits);
    for (int i = 0; to->awaits && i < flight->await_count; i++) {
        const struct flight_await *it = &flight->awaits[i];
        const struct layer_comm *comm = objects_comm_of(layer, it->comm);
        to->awaits[to->await_count++] = (struct profile_await){
            .sending = it->sending,
            .peer = it->is_world ? it->peer : find_world_rank(comm, it->peer),
            .any = !it->is_world && it->peer == MPI_ANY_SOURCE,
            .tag = it->tag >= 0 ? it->tag : -1,
            .comm = find_comm_number(comm)};
    }
    return to->awaits != NULL;
}

/* Describes the communicator of the call or, if the call completes requests, that of the first
 * request. */
static bool fill_comm(struct profile_flight *to, const struct flight_seen *flight,
                      const struct layer *layer)
{
    const uint64_t handle =
        flight->comm || !flight->await_count ? flight->comm : flight->awaits[0].comm;
    const struct layer_comm *comm = objects_comm_of(layer, handle);
    to->comm = find_comm_number(comm);
    to->members = list_members(comm);
    to->root = find_world_rank(comm, flight->root);
    to->communicator = comm && *comm->name ? strdup(comm->name) : NULL;
    return to->communicator || !comm || !*comm->name;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Returns the time that was `seconds` ago, in UTC, as ISO 8601 with milliseconds. */
static char *format_time_before(double seconds)
{
    struct timespec now;
    struct tm parts;
    char text[40], *whole;
    clock_gettime(CLOCK_REALTIME, &now);
    const double then = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - seconds;
    const time_t second = (time_t)then;
    if (!gmtime_r(&second, &parts))
        return strdup("");
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    const int ms = (int)((then - (double)second) * 1000);
    return asprintf(&whole, "%s.%03dZ", text, ms) < 0 ? NULL : whole;
}

static bool fill_flight(struct profile_flight *to, const struct flight_seen *flight,
                        const struct rank_build *build)
{
    const struct layer *layer = build->layer;
    const char *name = QMPIX_Function_name((enum QMPI_Functions_enum)flight->number);
    const size_t depth = (size_t)layer->options.depth;
    to->name = strdup(name ? name : "");
    to->rank = layer->rank;
    to->time = (double)flight->time * build->tick;
    to->waits = flight->state == FLIGHT_WAITS;
    to->since = format_time_before(to->time);
    to->frames = calloc(depth, sizeof *to->frames);
    return to->name && to->since && to->frames && fill_awaits(to, flight, layer) &&
           fill_comm(to, flight, layer) &&
           (!flight->site || rank_calls_copy_frames(to->frames, &to->frame_count,
                                                    thread_site_key(flight->site, depth), depth));
}

bool rank_build_flights(const struct rank_build *build)
{
    struct profile_result *result = build->result;
    const struct flights_seen *flights = build->flights;
    result->flights = calloc(flights->count + 1, sizeof *result->flights);
    bool good = result->flights != NULL;
    for (size_t i = 0; good && i < flights->count; i++)
        good = fill_flight(&result->flights[result->flight_count++], &flights->all[i], build);
    return good;
}
