/* SPDX-License-Identifier: MIT */
/* See flights_seen.h. */
#include "record/flights_seen.h"

#include "record/traits.h"
#include "toolkit/toolkit.h"

#include <stdlib.h>

/* When a call began that runs; `now`: it is about to. What is not between the beginning of the
 * profile and now is of a frame that is in use no more. */
static bool see_begin(const struct flight *flight, uint64_t now, uint64_t *since)
{
    const char *call = (const char *)FLIGHT_GET(flight->call);
    if (!tool_safe_copy(since, call + flights_begin_place, sizeof *since))
        return false;
    if (*since == 0)
        *since = now;
    return true;
}

/* The handle that is an argument of a call; 0: it has none. Its record may be in use no more: the
 * description of the function is not read through it. */
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

/* What the record of a call tells, which may be in use no more. */
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

static bool see(struct flight_seen *seen, const struct flight *flight, uint64_t now)
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
    *seen = (struct flights_seen){ticks_now(), calloc(room + 1, sizeof *seen->all), 0};
    if (!seen->all)
        return false;
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        for (const struct flight *flight = &thread->flights.first; flight && seen->count < room;
             flight = FLIGHT_GET(flight->inner))
            seen->count += see(&seen->all[seen->count], flight, seen->moment);
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

bool flight_stats(const struct flight_seen *flight, struct stats *stats)
{
    *stats = (struct stats){.calls = 1, .wait = flight->number};
    if (flight->state == FLIGHT_WAITS)
        stats->wait = flight->time;
    else
        stats->time = stats->shortest = stats->longest = flight->time;
    return flight->state != FLIGHT_NOTED;
}
