/* SPDX-License-Identifier: MIT */
/* See open_calls.h. */
#include "record/open_calls.h"

#include "record/operations.h"

void open_calls_open(struct recorder *recorder, struct flight *flight)
{
    if (flight_state(flight->mark) != FLIGHT_RUNS)
        return;
    uint64_t begin = *flights_times(flight->call);
    if (!begin)
        begin = ticks_now(); /* another layer's callback makes a call: ours is about to begin */
    recorder_put(recorder, RAW_OPEN, flight->number, begin, 0);
    flights_publish_since(flight, FLIGHT_NOTED, begin);
    operations_begin(recorder, flight->call, begin);
}

void open_calls_all(struct recorder *recorder)
{
    struct flight *flight = &recorder->flights.first;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner)
        open_calls_open(recorder, flight);
}

/* The record of a call that was left may be overwritten. */
static void open_left(struct recorder *recorder, struct flight *flight, uint64_t now)
{
    uint64_t begin = 0;
    if (flight_state(flight->mark) != FLIGHT_RUNS)
        return;
    if (flight_is_overwritten(flight, flight->word) ||
        !tool_safe_copy(&begin, flights_times(flight->call), sizeof begin) || !begin || begin > now)
        begin = now;
    recorder_put(recorder, RAW_OPEN, flight->number, begin, 0);
    flights_publish_since(flight, FLIGHT_NOTED, begin);
}

/* `last`: the innermost call that was not left; NULL: all were. */
static void end_inner(struct recorder *recorder, const struct flight *last)
{
    const uint64_t now = ticks_now();
    struct flight *flight = &recorder->flights.first;
    bool is_left = !last;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner) {
        if (is_left)
            open_left(recorder, flight, now);
        else
            open_calls_open(recorder, flight);
        is_left |= flight == last;
    }
    while ((flight = flights_innermost(&recorder->flights)) && flight != last) {
        if (flight_state(flight->mark) == FLIGHT_NOTED)
            recorder_put(recorder, RAW_LEFT, flight->number, now, 0);
        flights_pop(&recorder->flights, flight);
    }
}

void open_calls_end_left(struct recorder *recorder, const QMPIX_Word *word)
{
    struct flight *innermost = flights_innermost(&recorder->flights), *last = innermost;
    while (last && flight_was_left(last, word))
        last = last->outer;
    if (last != innermost)
        end_inner(recorder, last);
}

void open_calls_end_inner(struct recorder *recorder, const struct flight *last)
{
    if (flights_innermost(&recorder->flights) != last)
        end_inner(recorder, last);
}
