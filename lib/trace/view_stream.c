/* SPDX-License-Identifier: MIT */
/* The streams of view.h. */
#include "trace/repair.h"
#include "trace/view.h"

#include <stdlib.h>

/* What is in progress, in the order in which it began: calls, and regions. */
struct open_events {
    struct trace_event *all;
    size_t count, room;
};

enum state { BEFORE, OPENING, WITHIN, CLOSING, AFTER };

struct trace_view_stream {
    const struct trace_view *view;
    uint32_t process;
    struct trace_cursor *cursor;
    struct trace_messages *messages;
    struct repair_position position;
    struct open_events open;
    enum state state;
    size_t next; /* of `open`, while these begin or end */
    bool has_held, failed;
    struct trace_event held; /* the first event of the window */
    uint64_t held_message;
};

struct trace_view_stream *trace_view_stream_make(const struct trace_view *view, uint32_t process)
{
    struct trace_view_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->view = view;
    stream->process = process;
    stream->messages = view->messages[process];
    stream->state = view->selection.has_begin ? BEFORE : WITHIN;
    stream->cursor = trace_cursor_make(view->trace, process, TRACE_NONE, NULL);
    if (!stream->cursor || !stream->messages) {
        trace_view_stream_free(stream);
        return NULL;
    }
    trace_messages_rewind(stream->messages);
    if (view->repair)
        trace_repair_start(view->repair, process, &stream->position);
    return stream;
}

void trace_view_stream_free(struct trace_view_stream *stream)
{
    if (!stream)
        return;
    trace_cursor_free(stream->cursor);
    free(stream->open.all);
    free(stream);
}

bool trace_view_stream_failed(const struct trace_view_stream *stream)
{
    return stream->failed || trace_messages_failed(stream->messages);
}

/* ---- What is in progress --------------------------------------------------------------------- */

static void begin(struct trace_view_stream *stream, const struct trace_event *event)
{
    struct open_events *open = &stream->open;
    if (open->count == open->room) {
        const size_t room = open->room ? 2 * open->room : 8;
        struct trace_event *larger = realloc(open->all, room * sizeof *larger);
        if (!larger) {
            stream->failed = true;
            return;
        }
        open->all = larger;
        open->room = room;
    }
    open->all[open->count++] = *event;
}

static bool is_ended_by(const struct trace_event *open, const struct trace_event *event)
{
    if (event->kind == TRACE_REGION_END)
        return open->kind == TRACE_REGION_BEGIN && open->object == event->object;
    return open->kind == TRACE_ENTER && open->location == event->location;
}

static void end(struct trace_view_stream *stream, const struct trace_event *event)
{
    struct open_events *open = &stream->open;
    size_t i = open->count;
    while (i > 0 && !is_ended_by(&open->all[i - 1], event))
        i--;
    if (!i)
        return;
    for (open->count--; i - 1 < open->count; i++)
        open->all[i - 1] = open->all[i];
}

static void follow(struct trace_view_stream *stream, const struct trace_event *event)
{
    if (event->kind == TRACE_ENTER || event->kind == TRACE_REGION_BEGIN)
        begin(stream, event);
    else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED ||
             event->kind == TRACE_REGION_END)
        end(stream, event);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool read_event(struct trace_view_stream *stream, struct trace_event *event,
                       uint64_t *message)
{
    if (stream->has_held) {
        stream->has_held = false;
        *event = stream->held;
        *message = stream->held_message;
        return true;
    }
    if (!trace_cursor_next(stream->cursor, event, NULL))
        return false;
    *message = trace_messages_next(stream->messages, event);
    if (stream->view->repair)
        event->time = trace_repair_time(&stream->position, event->time);
    return true;
}

/* Reads up to the begin of the window. */
static void skip(struct trace_view_stream *stream)
{
    struct trace_event event;
    uint64_t message;
    stream->state = OPENING;
    while (read_event(stream, &event, &message)) {
        if (event.time >= stream->view->selection.begin) {
            stream->held = event;
            stream->held_message = message;
            stream->has_held = true;
            return;
        }
        follow(stream, &event);
    }
    /* The process has ended; what was in progress then is so until its end. */
    if (trace_view_end_of(stream->view, stream->process) < stream->view->selection.begin)
        stream->state = AFTER;
}

static bool next_opening(struct trace_view_stream *stream, struct trace_event *event)
{
    if (stream->next == stream->open.count) {
        stream->state = WITHIN;
        return false;
    }
    *event = stream->open.all[stream->next++];
    event->time = stream->view->selection.begin;
    return true;
}

static bool next_closing(struct trace_view_stream *stream, struct trace_event *event)
{
    if (!stream->open.count) {
        stream->state = AFTER;
        return false;
    }
    *event = stream->open.all[--stream->open.count];
    event->kind = event->kind == TRACE_ENTER ? TRACE_LEAVE : TRACE_REGION_END;
    event->time = stream->view->selection.end;
    return true;
}

/* Of the window. A call that is never left has no end in it either. */
static bool next_within(struct trace_view_stream *stream, struct trace_event *event,
                        uint64_t *message)
{
    const bool has_window = stream->view->selection.has_begin || stream->view->selection.has_end;
    if (!read_event(stream, event, message)) {
        stream->state = AFTER;
        return false;
    }
    if (stream->view->selection.has_end && event->time > stream->view->selection.end) {
        stream->state = CLOSING;
        return false;
    }
    if (has_window)
        follow(stream, event);
    return true;
}

bool trace_view_stream_next(struct trace_view_stream *stream, struct trace_event *event,
                            uint64_t *message)
{
    *message = 0;
    if (stream->state == BEFORE)
        skip(stream);
    if (stream->state == OPENING && next_opening(stream, event))
        return true;
    if (stream->state == WITHIN && next_within(stream, event, message))
        return true;
    return stream->state == CLOSING && next_closing(stream, event);
}
