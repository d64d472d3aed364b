/* SPDX-License-Identifier: MIT */
/* See any_end.h. */
#include "record/any_end.h"

#include "record/control.h"
#include "record/counters.h"
#include "record/notice.h"
#include "record/objects.h"
#include "record/open_calls.h"
#include "record/operations.h"
#include "record/recorder.h"
#include "record/requests.h"

static uint32_t freed_object(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded,
                             const struct traits *traits, enum trace_kind *kind)
{
    switch (traits->action) {
    case DOES_FREE_COMM:
        *kind = TRACE_COMM_DESTROY;
        break;
    case DOES_FREE_WIN:
        *kind = TRACE_WIN_DESTROY;
        break;
    case DOES_CLOSE_FILE:
        *kind = TRACE_FILE_CLOSE;
        break;
    default:
        return TRACE_NONE;
    }
    return objects_end_free(recorder, word, has_succeeded);
}

/* What a call did, of a flight that is in progress. Whether it is recorded or not, it is followed.
 */
static void end_actions(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                        const QMPIX_Word *word, bool has_succeeded, uint64_t end)
{
    const struct traits *traits = &traits_all[call->function->number];
    struct trace_event event;
    enum trace_kind kind = TRACE_COMM_DESTROY;
    if (has_succeeded)
        operations_end(recorder, flight, call, end);
    if (traits->action == DOES_COMPLETE)
        requests_complete(recorder, flight, call, end);
    else if (traits->action == DOES_FREE_REQUEST)
        requests_end_free(recorder, flight, has_succeeded, end);
    else if (traits->action == DOES_RECEIVE_MATCHED || traits->action == DOES_POST_MATCHED)
        requests_end_message(flight);
    if (has_succeeded && call->function->number == MPI_COMM_CREATE_FROM_GROUP_T)
        control_comm_created(recorder->layer, call);
    const uint32_t freed = freed_object(recorder, word, has_succeeded, traits, &kind);
    if (freed != TRACE_NONE) {
        trace_event_clear(&event, kind, end);
        if (kind == TRACE_COMM_DESTROY)
            event.comm = freed;
        else
            event.object = freed;
        recorder_put_event(recorder, &event);
    }
}

/* Whether the record of a call tells all that is to be recorded of it. */
static bool is_plain(const struct flight *flight, const struct traits *traits, bool has_succeeded)
{
    if (flight_state(flight->mark) == FLIGHT_NOTED ||
        (has_succeeded && (traits->tells_comm || traits->tells_file)))
        return false;
    switch (traits->action) {
    case DOES_NOTHING:
    case DOES_INIT_MESSAGE:
    case DOES_INIT_OTHER:
    case DOES_CANCEL:
    case DOES_MATCH:
    case DOES_NAME_COMM:
    case DOES_NAME_WIN:
        return true;
    case DOES_COMPLETE:
    case DOES_FREE_REQUEST:
        return !flight->held;
    case DOES_CONTROL:
        return !control_tells(traits);
    default:
        return !has_succeeded;
    }
}

static void end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                const QMPIX_Word *word)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool has_succeeded = !traits->has_error || argument_result_is_success(call);
    const bool is_recorded = flight_state(flight->mark) >= FLIGHT_RUNS;
    uint64_t begin = 0, end = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    if (end < begin)
        end = begin;
    /* While it is off, the stream has no open calls. */
    recorder->is_mute = !is_recorded || recorder->is_off;
    if (traits->action == DOES_COMPLETE && !recorder->is_mute &&
        flight_state(flight->mark) == FLIGHT_RUNS &&
        requests_put_tested(recorder, flight, call, (const uint64_t[]){begin, end}))
        return;
    if (recorder->is_mute || is_plain(flight, traits, has_succeeded)) {
        if (!recorder->is_mute)
            recorder_put(recorder, RAW_CALL, flight->number, begin, end);
        recorder->is_mute = true; /* what follows has no place in the stream */
        if (has_succeeded)
            operations_post(recorder, flight, call, begin);
        end_actions(recorder, flight, call, word, has_succeeded, end);
        if (traits->action == DOES_CONTROL)
            control_after(recorder, call, has_succeeded, end);
        return;
    }
    const bool was_open = flight_state(flight->mark) == FLIGHT_NOTED;
    open_calls_all(recorder);
    if (has_succeeded)
        operations_post(recorder, flight, call, was_open ? end : begin);
    end_actions(recorder, flight, call, word, has_succeeded, end);
    if (traits->action == DOES_CONTROL)
        control_after(recorder, call, has_succeeded, end);
    recorder_put(recorder, RAW_CLOSE, flight->number, end, 0);
}

static void end_call(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct flight *flight = flights_find(&recorder->flights, word);
    if (!flight)
        return;
    open_calls_end_inner(recorder, flight);
    end(recorder, flight, call, word);
    flights_end(&recorder->flights, word);
    recorder->is_mute = false;
    if (traits_all[call->function->number].action == DOES_CONTROL)
        control_end(recorder, call);
    if (notice_switches(recorder) && recorder->layer->options.counters)
        counters_sample(recorder, call);
}

void any_end(const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct recorder *recorder = recorder_at(level, call->observer->data);
    if (recorder)
        end_call(recorder, call, word);
    thread_level_leave(level);
}
