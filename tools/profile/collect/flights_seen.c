/* SPDX-License-Identifier: MIT */
/* See flights_seen.h. */
#include "tools/profile/collect/flights_seen.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/traits.h"

#include <stdlib.h>

/* Finds the tick at which a running call began, or `now` if its beginning is not recorded yet.
 * Returns false if the memory of the call's record is no longer mapped. */
static bool see_begin(const struct flight *flight, uint64_t now, uint64_t *since)
{
    const char *call = (const char *)FLIGHT_GET(flight->call);
    if (!tool_safe_copy(since, call + flights_begin_place, sizeof *since))
        return false;
    if (*since == 0)
        *since = now;
    return true;
}

/* Finds a handle that is an argument of a call; 0: the call has no such argument. The record of the
 * call may no longer be in use. Therefore it is copied safely, and the caller passes the
 * description of the function. */
static bool see_handle(const QMPIX_Call *call, int argument, const QMPIX_Function *function,
                       uint64_t *handle)
{
    const void *place;
    const QMPIX_Call of_function = {.function = function};
    *handle = 0;
    return argument < 0 ||
           (tool_safe_copy(&place, &call->arguments[argument], sizeof place) &&
            tool_safe_copy(handle, place, function->parameters[argument].size) &&
            QMPIX_Call_convert_elements(&of_function, argument, handle, 1, handle) == MPI_SUCCESS);
}

/* Reads the record of a call, which may no longer be in use. Returns false if it cannot be valid.
 */
static bool see_record(struct flight_seen *seen, const QMPIX_Call *record)
{
    QMPIX_Call call;
    QMPIX_Function function;
    const QMPIX_Function *known;
    if (!tool_safe_copy(&call, record, sizeof call) ||
        !tool_safe_copy(&function, call.function, sizeof function) ||
        (unsigned)function.number >= MPI_LAST_FUNC ||
        QMPIX_Function_describe(function.number, &known) != MPI_SUCCESS)
        return false;
    const struct traits *traits = &traits_all[function.number];
    seen->number = (uint64_t)function.number;
    return see_handle(&call, traits->comm, known, &seen->comm) &&
           see_handle(&call, traits->file, known, &seen->file);
}

static bool see_flight(struct flight_seen *seen, const struct flight *flight, uint64_t now)
{
    uint64_t since = FLIGHT_GET(flight->since);
    *seen = (struct flight_seen){.flight = flight, .mark = FLIGHT_GET(flight->mark)};
    seen->state = flight_state(seen->mark);
    if (seen->state < FLIGHT_RUNS)
        return false;
    seen->wait = FLIGHT_GET(flight->number);
    seen->site = FLIGHT_GET(flight->data);
    if (!see_record(seen, FLIGHT_GET(flight->call)))
        return false;
    if (seen->state == FLIGHT_RUNS && !see_begin(flight, now, &since))
        return false;
    seen->since = since;
    seen->time = now > since ? now - since : 0;
    seen->outermost = !flight->outer;
    const QMPIX_Word *word = FLIGHT_GET(flight->word);
    return !flight_is_overwritten(flight, word) && FLIGHT_GET(flight->mark) == seen->mark;
}

static size_t count_flights(int tool_id)
{
    size_t count = 0;
    for (const struct thread_profile *thread = threads_first(tool_id); thread;
         thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight;
             flight = FLIGHT_GET(flight->inner))
            count++;
    }
    return count;
}

/* Threads and calls that begin meanwhile may be left out. */
bool flights_see(struct flights_seen *seen, int tool_id)
{
    const size_t room = count_flights(tool_id);
    *seen = (struct flights_seen){ticks_now(), calloc(room + 1, sizeof *seen->all), 0};
    if (!seen->all)
        return false;
    for (const struct thread_profile *thread = threads_first(tool_id); thread;
         thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight && seen->count < room;
             flight = FLIGHT_GET(flight->inner))
            seen->count += see_flight(&seen->all[seen->count], flight, seen->moment);
    }
    return true;
}

bool flights_see_again(struct flights_seen *seen)
{
    size_t saved = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (FLIGHT_GET(seen->all[i].flight->mark) == seen->all[i].mark)
            seen->all[saved++] = seen->all[i];
    }
    const bool all = saved == seen->count;
    seen->count = saved;
    return all;
}

bool flight_stats(const struct flight_seen *flight, struct thread_stats *stats)
{
    *stats = (struct thread_stats){.calls = 1, .wait = flight->wait};
    if (flight->state == FLIGHT_WAITS)
        stats->wait = flight->time;
    else
        stats->time = stats->shortest = stats->longest = flight->time;
    return flight->state != FLIGHT_NOTED;
}
