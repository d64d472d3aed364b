/* SPDX-License-Identifier: MIT */
/* The first gap of check_parts.h: from there on, messages and collectives of a process cannot be
 * counted, and those that it has begun need not have an end. */
#include "trace/check_parts.h"

#include <stdlib.h>

struct gap {
    struct trace_table receives; /* pending, by request: uint64_t, ticks when they began */
    uint64_t ticks;
};

static void follow(struct gap *gap, const struct trace_event *event)
{
    uint64_t *place;
    if (event->kind == TRACE_IRECV_REQUEST) {
        place = trace_table_put(&gap->receives, event->request);
        if (place)
            *place = event->ticks;
    } else if (event->kind == TRACE_IRECV || event->kind == TRACE_REQUEST_CANCELLED) {
        trace_table_remove(&gap->receives, event->request);
    }
}

/* Whether a message was not seen here, or may not have been. */
static bool is_gap(const struct gap *gap, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_OFF:
    case TRACE_DROPPED:
        return true;
    case TRACE_REQUEST_FREED:
        return trace_table_get(&gap->receives, event->request) != NULL;
    case TRACE_SEND:
    case TRACE_RECV:
    case TRACE_ISEND:
    case TRACE_IRECV:
        return event->comm == TRACE_NONE && event->peer != TRACE_PROC_NULL;
    default:
        return false;
    }
}

/* It is not known which message a receive gets that is pending in the gap. */
static void note_pending(void *data, uint64_t request, void *value)
{
    struct gap *gap = data;
    const uint64_t *ticks = value;
    (void)request;
    if (*ticks < gap->ticks)
        gap->ticks = *ticks;
}

bool check_find_gap(const struct trace *trace, uint32_t process, uint64_t *ticks)
{
    struct gap gap = {.ticks = UINT64_MAX};
    struct trace_event event;
    struct trace_cursor *cursor = trace_cursor_make(trace, process, TRACE_NONE, NULL);
    trace_table_start(&gap.receives, sizeof(uint64_t));
    while (cursor && gap.ticks == UINT64_MAX && trace_cursor_next(cursor, &event, NULL)) {
        if (is_gap(&gap, &event))
            gap.ticks = event.ticks;
        else
            follow(&gap, &event);
    }
    if (gap.ticks != UINT64_MAX)
        trace_table_each(&gap.receives, note_pending, &gap);
    const bool whole = cursor && !gap.receives.failed;
    trace_cursor_free(cursor);
    trace_table_free(&gap.receives);
    *ticks = gap.ticks;
    return whole;
}
