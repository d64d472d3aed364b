/* SPDX-License-Identifier: MIT */
/* See notice.h. */
#include "record/notice.h"

#include "record/open_calls.h"

static void put(struct recorder *recorder, enum trace_kind kind, uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, kind, ticks);
    recorder_put_event(recorder, &event);
}

bool notice_change(struct recorder *recorder)
{
    const struct switches *switches = &recorder->layer->switches;
    const uint64_t state = atomic_load(&switches->state);
    const bool is_on = state & 1, is_mute = recorder->is_mute;
    if (!is_on && switches->off & OFF_CLOSED) {
        recorder->switches = 0;
        recorder->is_off = true;
        return false;
    }
    recorder->is_mute = false;
    if (recorder->state & 1) {
        open_calls_all(recorder);
        put(recorder, TRACE_OFF, switches->ticks[0]);
        recorder->is_off = true;
    }
    if (is_on && recorder->is_off) {
        const uint64_t since = switches->ticks[1];
        put(recorder, TRACE_ON, since);
        recorder->is_off = false;
        struct flight *flight = &recorder->flights.first;
        for (; flight && flight_state(flight->mark) != FLIGHT_ENDED; flight = flight->inner) {
            if (flight_state(flight->mark) == FLIGHT_NOTED)
                recorder_put(recorder, RAW_OPEN, flight->number, since, 0);
        }
    }
    recorder->is_mute = is_mute;
    recorder->state = state;
    recorder->switches = is_on ? state : 0;
    return is_on;
}
