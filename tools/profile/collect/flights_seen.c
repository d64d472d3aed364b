/* SPDX-License-Identifier: MIT */
/* See flights_seen.h. */
#include "tools/profile/collect/flights_seen.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/receives.h"
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

/* Finds a handle that is an argument of a call, or 0 if the call has no such argument. The call
 * may have ended. Therefore, the handle is copied safely, and `function` is used instead of
 * call->function, which may be invalid. Returns false if the argument cannot be read. */
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

/* Finds an argument that is an int, or keeps *number if the call has no such argument. Returns
 * false if the argument cannot be read. */
static bool see_int(const QMPIX_Call *call, int argument, const QMPIX_Function *function,
                    int *number)
{
    const void *place;
    const QMPIX_Call of_function = {.function = function};
    return argument < 0 ||
           (tool_safe_copy(&place, &call->arguments[argument], sizeof place) &&
            tool_safe_copy(number, place, sizeof *number) &&
            QMPIX_Call_convert_elements(&of_function, argument, number, 1, number) == MPI_SUCCESS);
}

/* Adds the message that a blocking call sends or receives. `arguments` are the indices of its rank
 * and its tag; if that of the rank is negative, there is no such message. */
static bool see_message(struct flight_seen *seen, const QMPIX_Call *call,
                        const QMPIX_Function *function, bool sending, const int arguments[2])
{
    struct flight_await *await = &seen->awaits[seen->await_count];
    if (arguments[0] < 0)
        return true;
    *await = (struct flight_await){.sending = sending, .comm = seen->comm};
    if (!see_int(call, arguments[0], function, &await->peer) ||
        !see_int(call, arguments[1], function, &await->tag))
        return false;
    seen->await_count += await->peer != MPI_PROC_NULL;
    return true;
}

/* Finds for which messages a call waits, and the root of a collective. */
static bool see_partners(struct flight_seen *seen, const QMPIX_Call *call,
                         const QMPIX_Function *function)
{
    const unsigned others = QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT | QMPIX_TRAIT_POLLS;
    QMPIX_Traits traits = {.size = sizeof traits};
    seen->root = -1;
    seen->await_count = 0;
    if (QMPIX_Function_get_traits(function, &traits) != MPI_SUCCESS || traits.flags & others)
        return true;
    switch (traits.role) {
    case QMPIX_ROLE_SEND:
    case QMPIX_ROLE_RECEIVE:
    case QMPIX_ROLE_SENDRECV:
    case QMPIX_ROLE_PROBE:
    case QMPIX_ROLE_MATCHED_PROBE:
        return see_message(seen, call, function, true,
                           (int[]){traits.destination, traits.send_tag}) &&
               see_message(seen, call, function, false, (int[]){traits.source, traits.receive_tag});
    default:
        return see_int(call, traits.root, function, &seen->root);
    }
}

/* Adds the messages whose requests a call completes. */
static void see_requests(struct flight_seen *seen)
{
    struct receives_held held[FLIGHT_AWAITS_MOST];
    if (traits_all[seen->number].receives != RECEIVES_COMPLETES)
        return;
    seen->await_count = receives_list_held(seen->flight, held, FLIGHT_AWAITS_MOST);
    for (int i = 0; i < seen->await_count; i++)
        seen->awaits[i] = (struct flight_await){.sending = held[i].is_send,
                                                .is_world = held[i].is_send,
                                                .peer = held[i].peer,
                                                .tag = held[i].tag,
                                                .comm = held[i].comm};
}

/* Reads the record of a call, which may have ended. Returns false if the record is not valid. */
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
           see_handle(&call, traits->file, known, &seen->file) && see_partners(seen, &call, known);
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
    see_requests(seen);
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
