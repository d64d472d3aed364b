/* SPDX-License-Identifier: MIT */
/* See flights.h. */
#define _GNU_SOURCE
#include "record/flights.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <signal.h>

ptrdiff_t flights_begin_place;

/* What lies on the stack where a call was that was left may be anybody's, or gone. A word that is
 * not written before its call has ended tells nothing. */
bool flight_is_overwritten(const struct flight *flight, const QMPIX_Word *word)
{
    uint64_t number;
    const uint64_t state = FLIGHT_GET(flight->state);
    return state == FLIGHT_RUNS && (!tool_safe_copy(&number, &word->number, sizeof number) ||
                                    number != FLIGHT_GET(flight->mark));
}

/* Where a signal's handler has a stack of its own, addresses tell nothing. */
static bool on_signal_stack(void)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

/*
 * Whether a call is not under way any more: it was left by a jump, out of an error handler for one.
 * The stack grows downwards: then its word is below this one, or was written over; that of a call
 * under way is as it was. It may also be on another stack, which may be gone.
 */
static bool was_left(const struct flight *flight, const QMPIX_Word *word)
{
    return ((uintptr_t)flight->word <= (uintptr_t)word && !on_signal_stack()) ||
           flight_is_overwritten(flight, flight->word);
}

static void pop(struct flights *flights)
{
    struct flight *flight = flights->top;
    FLIGHT_PUT(flight->mark, 0);
    flights->top = flight->outer;
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
    while (flights->top && was_left(flights->top, word))
        pop(flights);
    if (!flights->top)
        return &flights->first;
    return flights->top->inner ? flights->top->inner : make(flights->top);
}

struct flight *flights_end_outer(struct flights *flights, const QMPIX_Word *word)
{
    struct flight *flight = flights->top;
    while (flight && flight->word != word)
        flight = flight->outer;
    while (flight && flights->top != flight)
        pop(flights);
    if (flight)
        pop(flights);
    return flight;
}

void flights_forget(struct flights *flights)
{
    while (flights->top)
        pop(flights);
}
