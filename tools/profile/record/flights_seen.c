/* SPDX-License-Identifier: MIT */
/* See flights_seen.h. */
#include "record/flights_seen.h"

#include <stdlib.h>

static bool see(struct flight_seen *seen, const struct flight *flight, uint64_t now)
{
    *seen = (struct flight_seen){.flight = flight, .since = FLIGHT_GET(flight->since)};
    if (!seen->since)
        return false;
    seen->state = FLIGHT_GET(flight->state);
    seen->number = FLIGHT_GET(flight->number);
    seen->wait = FLIGHT_GET(flight->wait);
    seen->comm = FLIGHT_GET(flight->comm);
    seen->file = FLIGHT_GET(flight->file);
    seen->site = FLIGHT_GET(flight->site);
    seen->time = now > seen->since ? now - seen->since : 0;
    seen->outermost = !flight->outer;
    const QMPIX_Word *word = FLIGHT_GET(flight->word);
    return !flight_is_overwritten(flight, word) && FLIGHT_GET(flight->since) == seen->since;
}

static size_t count_all(int tool_id)
{
    size_t count = 0;
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight;
             flight = FLIGHT_GET(flight->inner))
            count++;
    }
    return count;
}

/* Threads that come meanwhile are too late. */
bool flights_see(struct flights_seen *seen, int tool_id)
{
    const size_t room = count_all(tool_id);
    const uint64_t now = tool_clock_now();
    *seen = (struct flights_seen){calloc(room + 1, sizeof *seen->all), 0};
    if (!seen->all)
        return false;
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight && seen->count < room;
             flight = FLIGHT_GET(flight->inner))
            seen->count += see(&seen->all[seen->count], flight, now);
    }
    return true;
}

bool flights_see_again(struct flights_seen *seen)
{
    size_t saved = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (FLIGHT_GET(seen->all[i].flight->since) == seen->all[i].since)
            seen->all[saved++] = seen->all[i];
    }
    const bool all = saved == seen->count;
    seen->count = saved;
    return all;
}

bool flight_stats(const struct flight_seen *flight, struct stats *stats)
{
    *stats = (struct stats){.calls = 1, .wait = flight->wait};
    if (flight->state == FLIGHT_WAITS)
        stats->wait = flight->time;
    else
        stats->time = stats->shortest = stats->longest = flight->time;
    return flight->state != FLIGHT_NOTED;
}
