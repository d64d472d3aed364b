/* SPDX-License-Identifier: MIT */
/* See flights.h. */
#define _GNU_SOURCE
#include "toolkit/flights.h"

#include "toolkit/safe_read.h"
#include "util/util.h"

#include <signal.h>

ptrdiff_t flights_begin_place;

/* The stack of the call may have been reused or unmapped after the thread left the call. The word
 * contains the mark only in the state FLIGHT_RUNS, so in other states it proves nothing. */
bool flight_is_overwritten(const struct flight *flight, const QMPIX_Word *word)
{
    uint64_t number;
    const uint64_t mark = FLIGHT_GET(flight->mark);
    return flight_state(mark) == FLIGHT_RUNS &&
           (!tool_safe_copy(&number, &word->number, sizeof number) || number != mark);
}

/* A signal handler may run on an alternate stack. The order of the addresses of two words then does
 * not show which call is within the other. */
static bool on_signal_stack(void)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/*
 * The stack grows downwards, so a call within another one has its word at a lower address. A flight
 * whose word is not above `word` can therefore only belong to a call that the thread has left.
 * The word of a call that was left on another stack may be above `word`, but it has been
 * overwritten if that stack was used again or unmapped.
 */
bool flight_was_left(const struct flight *flight, const QMPIX_Word *word)
{
    return ((uintptr_t)flight->word <= (uintptr_t)word && !on_signal_stack()) ||
           flight_is_overwritten(flight, flight->word);
}

void flights_pop(struct flights *flights, struct flight *flight)
{
    FLIGHT_PUT(flight->mark, flight->mark - flight_state(flight->mark));
    flights->nested = flight->outer && flight->outer->outer ? flight->outer : NULL;
}

static struct flight *make_nested_flight(struct flight *outer)
{
    struct flight *flight = qmpi_memory_take(sizeof *flight);
    if (flight) {
        flight->outer = outer;
        FLIGHT_PUT(outer->inner, flight);
    }
    return flight;
}

struct flight *flights_place(struct flights *flights, const QMPIX_Word *word)
{
    struct flight *flight;
    while ((flight = flights_innermost(flights)) && flight_was_left(flight, word))
        flights_pop(flights, flight);
    if (!flight)
        return &flights->first;
    return flight->inner ? flight->inner : make_nested_flight(flight);
}

struct flight *flights_find(struct flights *flights, const QMPIX_Word *word)
{
    struct flight *flight = flights_innermost(flights);
    while (flight && flight->word != word)
        flight = flight->outer;
    return flight;
}

struct flight *flights_end(struct flights *flights, const QMPIX_Word *word)
{
    struct flight *flight = flights_find(flights, word), *inner;
    while (flight && (inner = flights_innermost(flights)) != flight)
        flights_pop(flights, inner);
    if (flight)
        flights_pop(flights, flight);
    return flight;
}

void flights_forget(struct flights *flights)
{
    for (struct flight *flight; (flight = flights_innermost(flights));)
        flights_pop(flights, flight);
}
