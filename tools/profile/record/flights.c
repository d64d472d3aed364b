/* SPDX-License-Identifier: MIT */
/* See flights.h. */
#define _GNU_SOURCE
#include "record/flights.h"

#include "record/threads.h"
#include "toolkit/arena.h"
#include "toolkit/safe_read.h"

#include <signal.h>
#include <stdlib.h>

#define GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

/* What lies on the stack where a call was that was left may be anybody's, or gone. A word that is
 * not written before its call has ended tells nothing. */
static bool is_overwritten(const struct flight *flight, const QMPIX_Word *word)
{
    uint64_t number;
    const uint64_t state = GET(flight->state);
    return state == FLIGHT_RUNS &&
           (!tool_safe_copy(&number, &word->number, sizeof number) || number != GET(flight->since));
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
           is_overwritten(flight, flight->word);
}

static void pop(struct flights *flights)
{
    struct flight *flight = flights->top;
    FLIGHT_PUT(flight->since, 0);
    flights->top = flight->outer;
}

static struct flight *make(struct flight *outer)
{
    struct flight *flight = tool_memory_take(sizeof *flight);
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

/* ---- Readers ------------------------------------------------------------------------------------
 */

static bool see(struct flight_seen *seen, const struct flight *flight, uint64_t now)
{
    *seen = (struct flight_seen){.flight = flight, .since = GET(flight->since)};
    if (!seen->since)
        return false;
    seen->state = GET(flight->state);
    seen->number = GET(flight->number);
    seen->wait = GET(flight->wait);
    seen->comm = GET(flight->comm);
    seen->file = GET(flight->file);
    seen->site = GET(flight->site);
    seen->time = now > seen->since ? now - seen->since : 0;
    seen->outermost = !flight->outer;
    const QMPIX_Word *word = GET(flight->word);
    return !is_overwritten(flight, word) && GET(flight->since) == seen->since;
}

static size_t count_all(int tool_id)
{
    size_t count = 0;
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight;
             flight = GET(flight->inner))
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
             flight = GET(flight->inner))
            seen->count += see(&seen->all[seen->count], flight, now);
    }
    return true;
}

bool flights_see_again(struct flights_seen *seen)
{
    size_t saved = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (GET(seen->all[i].flight->since) == seen->all[i].since)
            seen->all[saved++] = seen->all[i];
    }
    const bool all = saved == seen->count;
    seen->count = saved;
    return all;
}
