/* SPDX-License-Identifier: MIT */
/* See lane.h. */
#include "trace/lane.h"

#include <stdlib.h>

static void peek(struct trace_lane *lane, size_t i, struct trace_bytes *scratch)
{
    struct trace_peek *next = &lane->peeks[i];
    next->is_there = trace_stream_next(&lane->streams[i], &next->event, &next->depth, scratch);
    if (!next->is_there)
        trace_stream_free(&lane->streams[i]);
}

bool trace_lane_make(struct trace_lane *lane, const struct trace_source *source,
                     const struct trace_process *process, const struct trace_source_stream *streams,
                     size_t count, uint64_t begin, uint64_t end, struct trace_bytes *scratch)
{
    *lane = (struct trace_lane){.streams = calloc(count, sizeof *lane->streams),
                                .peeks = calloc(count, sizeof *lane->peeks)};
    if (!lane->streams || !lane->peeks) {
        trace_lane_free(lane);
        return false;
    }
    for (; lane->count < count; lane->count++) {
        struct trace_stream *stream = &lane->streams[lane->count];
        stream->source = source;
        stream->process = process;
        stream->stream = &streams[lane->count];
        stream->begin = begin;
        stream->end = end;
        trace_stream_begin(stream);
        peek(lane, lane->count, scratch);
    }
    return true;
}

void trace_lane_free(struct trace_lane *lane)
{
    for (size_t i = 0; i < lane->count; i++)
        trace_stream_free(&lane->streams[i]);
    free(lane->streams);
    free(lane->peeks);
    free(lane->owners);
    *lane = (struct trace_lane){0};
}

/* The stream whose event is next: the earliest; at the same time that which is in a call. */
static size_t choose(const struct trace_lane *lane)
{
    const size_t inner = lane->depth ? lane->owners[lane->depth - 1].stream : lane->count;
    size_t chosen = lane->count;
    for (size_t i = 0; i < lane->count; i++) {
        if (!lane->peeks[i].is_there)
            continue;
        if (chosen == lane->count || lane->peeks[i].event.ticks < lane->peeks[chosen].event.ticks ||
            (lane->peeks[i].event.ticks == lane->peeks[chosen].event.ticks && i == inner))
            chosen = i;
    }
    return chosen;
}

static bool push(struct trace_lane *lane, struct trace_owner owner)
{
    if (lane->depth == lane->room) {
        const size_t room = lane->room ? 2 * lane->room : 8;
        struct trace_owner *owners = realloc(lane->owners, room * sizeof *owners);
        if (!owners)
            return false;
        lane->owners = owners;
        lane->room = room;
    }
    lane->owners[lane->depth++] = owner;
    return true;
}

/* Whether a call is in progress, and not only in its stream. */
static bool is_in_progress(const struct trace_lane *lane, size_t stream, size_t depth)
{
    for (size_t i = lane->depth; i > 0; i--)
        if (lane->owners[i - 1].stream == stream && lane->owners[i - 1].depth == depth)
            return true;
    return false;
}

bool trace_lane_next(struct trace_lane *lane, struct trace_event *event,
                     struct trace_bytes *scratch)
{
    for (;;) {
        const size_t i = lane->count == 1 ? 0 : choose(lane);
        if (i == lane->count || !lane->peeks[i].is_there)
            return false;
        const struct trace_peek *next = &lane->peeks[i];
        const bool ends = next->event.kind == TRACE_LEAVE || next->event.kind == TRACE_INTERRUPTED;
        *event = next->event;
        if (lane->count > 1 && event->kind == TRACE_ENTER &&
            !push(lane, (struct trace_owner){i, next->depth, event->function, event->site}))
            return false;
        if (lane->count > 1 && ends) {
            if (!is_in_progress(lane, i, next->depth)) {
                peek(lane, i, scratch);
                continue;
            }
            const struct trace_owner *inner = &lane->owners[--lane->depth];
            if (inner->stream != i || inner->depth != next->depth) {
                /* A call of another stream has not ended: the handler was left. */
                trace_event_clear(event, TRACE_INTERRUPTED, next->event.ticks);
                event->location = next->event.location;
                event->function = inner->function;
                event->site = inner->site;
                return true;
            }
        }
        peek(lane, i, scratch);
        return true;
    }
}
