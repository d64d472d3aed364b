/* SPDX-License-Identifier: MIT */
/* See flights.h. */
#define _GNU_SOURCE
#include "toolkit/flights.h"

#include "toolkit/safe_read.h"
#include "util/util.h"

#include <signal.h>

ptrdiff_t flights_begin_place;

/* What lies on the stack where a call was that was left may be anybody's, or gone. A word that is
 * not written before its call has ended tells nothing. */
bool flight_is_overwritten(const struct flight *flight, const QMPIX_Word *word)
{
    uint64_t number;
    const uint64_t mark = FLIGHT_GET(flight->mark);
    return flight_state(mark) == FLIGHT_RUNS &&
           (!tool_safe_copy(&number, &word->number, sizeof number) || number != mark);
}

/* Where a signal's handler has a stack of its own, addresses tell nothing. */
static bool on_signal_stack(void)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/*
 * The stack grows downwards: then its word is below this one, or was written over; that of a call
 * under way is as it was. It may also be on another stack, which may be gone.
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

static struct flight *make(struct flight *outer)
{
    struct flight *flight = qmpi_arena_take(sizeof *flight);
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
    return flight->inner ? flight->inner : make(flight);
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
