/* SPDX-License-Identifier: MIT */
/* See snapshot_parts.h: the calls that are under way while the process is saved. */
#define _GNU_SOURCE
#include "collect/snapshot_parts.h"

#include "record/regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t build_flight_share(const struct layer *layer, const struct flights_seen *flights)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < flights->count && regions_have_begun(&layer->regions); i++) {
        struct stats stats;
        if (flights->all[i].outermost && flight_stats(&flights->all[i], &stats))
            ticks += stats.time + stats.wait;
    }
    return ticks;
}

/* ISO 8601 with milliseconds, UTC. */
static char *time_before(double seconds)
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

static bool fill(struct profile_flight *to, const struct flight_seen *flight,
                 const struct layer *layer, double tick)
{
    const char *name = QMPIX_Function_name((enum QMPI_Functions_enum)flight->number);
    const size_t depth = (size_t)layer->options.depth;
    to->name = strdup(name ? name : "");
    to->rank = layer->rank;
    to->time = (double)flight->time * tick;
    to->waits = flight->state == FLIGHT_WAITS;
    to->since = time_before(to->time);
    to->frames = calloc(depth, sizeof *to->frames);
    return to->name && to->since && to->frames &&
           (!flight->site ||
            build_frames(to->frames, &to->frame_count, site_key(flight->site, depth), depth));
}

bool build_flights(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick)
{
    result->flights = calloc(flights->count + 1, sizeof *result->flights);
    bool good = result->flights != NULL;
    for (size_t i = 0; good && i < flights->count; i++)
        good = fill(&result->flights[result->flight_count++], &flights->all[i], layer, tick);
    return good;
}
