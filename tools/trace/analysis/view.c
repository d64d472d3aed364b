/* SPDX-License-Identifier: MIT */
/* See view.h. */
#include "tools/trace/analysis/view.h"

#include "tools/trace/file/heap.h"

#include <stdlib.h>

/* ---- Times ----------------------------------------------------------------------------------- */

bool trace_view_has(const struct trace_view *view, uint32_t process)
{
    return process < view->trace->process_count &&
           (!view->selection.processes || view->selection.processes[process]);
}

int64_t trace_view_begin(const struct trace_view *view)
{
    return view->selection.has_begin && view->selection.begin > 0 ? view->selection.begin : 0;
}

int64_t trace_view_end(const struct trace_view *view)
{
    int64_t end = view->trace->end;
    for (uint32_t i = 0; view->corrections && i < view->trace->process_count; i++) {
        const int64_t later = trace_view_end_of(view, i);
        end = later > end ? later : end;
    }
    return view->selection.has_end && view->selection.end < end ? view->selection.end : end;
}

int64_t trace_view_end_of(const struct trace_view *view, uint32_t process)
{
    const struct trace_process *it = &view->trace->processes[process];
    int64_t end = trace_reader_time(view->trace, it, it->end_ticks);
    if (view->corrections)
        end = trace_corrections_end(view->corrections, process, end);
    return view->selection.has_end && view->selection.end < end ? view->selection.end : end;
}

/* ---- The events of one process --------------------------------------------------------------- */

/* A call or a region that is in progress. */
struct open_event {
    struct trace_event event;
    struct open_event *previous, *next; /* neighbors in the order of their begins */
    /* The event with the same key to which `by_key` refers again when this one ends, or NULL.
     */
    struct open_event *outer;
};
struct open_events {
    struct open_event *first, *last;
    /* key -> struct open_event *, the event with this key that began last. */
    struct qmpi_table by_key;
};

enum stream_state { BEFORE, OPENING, WITHIN, CLOSING, AFTER };

struct trace_view_stream {
    const struct trace_view *view;
    uint32_t process;
    struct trace_cursor *cursor;
    struct trace_messages *messages;
    struct trace_corrections_position position;
    struct open_events open;
    enum stream_state state;
    const struct open_event *next; /* in state OPENING: the next event of `open` to be returned */
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
    qmpi_table_start(&stream->open.by_key, sizeof(struct open_event *));
    stream->state = view->selection.has_begin ? BEFORE : WITHIN;
    stream->cursor = trace_cursor_make(view->trace, process, TRACE_NONE, NULL);
    if (!stream->cursor || !stream->messages) {
        trace_view_stream_free(stream);
        return NULL;
    }
    trace_messages_rewind(stream->messages);
    if (view->corrections)
        trace_corrections_start(view->corrections, process, &stream->position);
    return stream;
}

void trace_view_stream_free(struct trace_view_stream *stream)
{
    if (!stream)
        return;
    trace_cursor_free(stream->cursor);
    for (struct open_event *open; (open = stream->open.first);) {
        stream->open.first = open->next;
        free(open);
    }
    qmpi_table_free(&stream->open.by_key);
    free(stream);
}

bool trace_view_stream_failed(const struct trace_view_stream *stream)
{
    return stream->failed || trace_messages_failed(stream->messages) ||
           trace_reader_error(stream->view->trace);
}

/* Returns the key of an event, which is the number of a region, or the thread of a call. */
static uint64_t open_key(const struct trace_event *event)
{
    const bool is_region = event->kind == TRACE_REGION_BEGIN || event->kind == TRACE_REGION_END;
    return is_region ? UINT64_C(1) << 32 | event->object : event->location;
}

static void begin_open(struct trace_view_stream *stream, const struct trace_event *event)
{
    struct open_events *open = &stream->open;
    struct open_event *begun = malloc(sizeof *begun);
    struct open_event **place = begun ? qmpi_table_put(&open->by_key, open_key(event)) : NULL;
    if (!place) {
        stream->failed = true;
        free(begun);
        return;
    }
    *begun = (struct open_event){.event = *event, .previous = open->last, .outer = *place};
    *(open->last ? &open->last->next : &open->first) = begun;
    open->last = *place = begun;
}

static void end_open(struct trace_view_stream *stream, const struct trace_event *event)
{
    struct open_events *open = &stream->open;
    struct open_event **place = qmpi_table_get(&open->by_key, open_key(event));
    if (!place)
        return;
    struct open_event *ended = *place;
    *(ended->previous ? &ended->previous->next : &open->first) = ended->next;
    *(ended->next ? &ended->next->previous : &open->last) = ended->previous;
    if (ended->outer)
        *place = ended->outer;
    else
        qmpi_table_remove(&open->by_key, open_key(event));
    free(ended);
}

static void follow_event(struct trace_view_stream *stream, const struct trace_event *event)
{
    if (event->kind == TRACE_ENTER || event->kind == TRACE_REGION_BEGIN)
        begin_open(stream, event);
    else if (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED ||
             event->kind == TRACE_REGION_END)
        end_open(stream, event);
}

static void set_size(const struct qmpi_table *sizes, struct trace_event *event, uint64_t message)
{
    const struct trace_view_size *size = qmpi_table_get(sizes, message);
    if (size && size->is_known)
        event->bytes = size->bytes;
}

static bool read_view_event(struct trace_view_stream *stream, struct trace_event *event,
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
    if (*message && stream->view->sizes && trace_messages_lack_size(stream->messages))
        set_size(stream->view->sizes, event, *message);
    if (stream->view->corrections)
        event->time = trace_corrections_time(&stream->position, event->time);
    return true;
}

/* Reads events up to the begin of the window. */
static void skip_to_window(struct trace_view_stream *stream)
{
    struct trace_event event;
    uint64_t message;
    stream->state = OPENING;
    while (read_view_event(stream, &event, &message)) {
        if (event.time >= stream->view->selection.begin) {
            stream->held = event;
            stream->held_message = message;
            stream->has_held = true;
            stream->next = stream->open.first;
            return;
        }
        follow_event(stream, &event);
    }
    stream->next = stream->open.first;
    /* All events are before the window. Calls and regions in progress last until the end of the
     * process, which may be before the window, too. */
    if (trace_view_end_of(stream->view, stream->process) < stream->view->selection.begin)
        stream->state = AFTER;
}

static bool next_opening(struct trace_view_stream *stream, struct trace_event *event)
{
    if (!stream->next) {
        stream->state = WITHIN;
        return false;
    }
    *event = stream->next->event;
    stream->next = stream->next->next;
    event->time = stream->view->selection.begin;
    return true;
}

static bool next_closing(struct trace_view_stream *stream, struct trace_event *event)
{
    if (!stream->open.last) {
        stream->state = AFTER;
        return false;
    }
    *event = stream->open.last->event;
    end_open(stream, event);
    event->kind = event->kind == TRACE_ENTER ? TRACE_LEAVE : TRACE_REGION_END;
    event->time = stream->view->selection.end;
    return true;
}

/* Reads the next event within the window. If the process ends before the window does, the calls in
 * which it ended get no end. */
static bool next_within(struct trace_view_stream *stream, struct trace_event *event,
                        uint64_t *message)
{
    const bool has_window = stream->view->selection.has_begin || stream->view->selection.has_end;
    if (!read_view_event(stream, event, message)) {
        stream->state = AFTER;
        return false;
    }
    if (stream->view->selection.has_end && event->time > stream->view->selection.end) {
        stream->state = CLOSING;
        return false;
    }
    if (has_window)
        follow_event(stream, event);
    return true;
}

bool trace_view_stream_next(struct trace_view_stream *stream, struct trace_event *event,
                            uint64_t *message)
{
    *message = 0;
    if (stream->state == BEFORE)
        skip_to_window(stream);
    if (stream->state == OPENING && next_opening(stream, event))
        return true;
    if (stream->state == WITHIN && next_within(stream, event, message))
        return true;
    return stream->state == CLOSING && next_closing(stream, event);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool open_without_sizes(struct trace_view *view, const struct trace *trace,
                               const struct trace_cursor_selection *selection)
{
    *view = (struct trace_view){.trace = trace};
    if (selection)
        view->selection = *selection;
    view->messages = calloc(trace->process_count + 1, sizeof *view->messages);
    for (uint32_t i = 0; view->messages && i < trace->process_count; i++) {
        if (!trace_view_has(view, i))
            continue;
        view->messages[i] = trace_messages_read(trace, i, false);
        if (!view->messages[i])
            return false;
    }
    return view->messages;
}

/* Adds the messages that lack a size to the table (`of_sends` is false), or sets their sizes from
 * the sends (`of_sends` is true). */
static bool read_sizes(struct qmpi_table *sizes, const struct trace_view *all, uint32_t process,
                       bool of_sends)
{
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(all, process);
    while (stream && trace_view_stream_next(stream, &event, &message)) {
        if (!message)
            continue;
        if (of_sends && trace_messages_is_send(&event)) {
            struct trace_view_size *size = qmpi_table_get(sizes, message);
            if (size)
                *size = (struct trace_view_size){event.bytes, true};
        } else if (!of_sends && trace_messages_lack_size(all->messages[process])) {
            qmpi_table_put(sizes, message);
        }
    }
    const bool good = stream && !trace_view_stream_failed(stream) && !sizes->failed;
    trace_view_stream_free(stream);
    return good;
}

/* Finds the sizes of messages whose receives lack them. The senders need not be in the view, so all
 * processes are read. */
static bool find_sizes(struct trace_view *view)
{
    struct trace_view all;
    bool good = open_without_sizes(&all, view->trace, NULL);
    view->sizes = good ? malloc(sizeof *view->sizes) : NULL;
    if (view->sizes)
        qmpi_table_start(view->sizes, sizeof(struct trace_view_size));
    good = view->sizes;
    for (int of_sends = 0; of_sends < 2; of_sends++) {
        for (uint32_t i = 0; good && i < view->trace->process_count; i++) {
            if (of_sends || trace_messages_may_lack_sizes(&view->trace->processes[i]))
                good = read_sizes(view->sizes, &all, i, of_sends);
        }
    }
    trace_view_close(&all);
    return good;
}

static bool view_may_lack_sizes(const struct trace_view *view)
{
    for (uint32_t i = 0; i < view->trace->process_count; i++) {
        if (trace_view_has(view, i) && trace_messages_may_lack_sizes(&view->trace->processes[i]))
            return true;
    }
    return false;
}

bool trace_view_open(struct trace_view *view, const struct trace *trace,
                     const struct trace_cursor_selection *selection)
{
    return open_without_sizes(view, trace, selection) &&
           (!view_may_lack_sizes(view) || find_sizes(view));
}

void trace_view_close(struct trace_view *view)
{
    for (uint32_t i = 0; view->messages && i < view->trace->process_count; i++)
        trace_messages_free(view->messages[i]);
    free(view->messages);
    view->messages = NULL;
    if (view->sizes)
        qmpi_table_free(view->sizes);
    free(view->sizes);
    view->sizes = NULL;
}

/* ---- The events of all processes ------------------------------------------------------------- */

struct source {
    struct trace_view_stream *stream;
    uint32_t process;
    struct trace_event event;
    uint64_t message;
};

struct trace_view_merged {
    struct source *sources;
    size_t source_count;
    struct trace_heap next; /* struct source *, ordered by the times of their next events */
    bool failed;
};

static bool is_source_before(const void *context, const void *one, const void *other)
{
    const struct source *mine = *(struct source *const *)one, *its = *(struct source *const *)other;
    (void)context;
    return mine->event.time != its->event.time ? mine->event.time < its->event.time
                                               : mine->process < its->process;
}

static void add_source(struct trace_view_merged *merged, const struct trace_view *view,
                       uint32_t process)
{
    struct source *source = &merged->sources[merged->source_count++];
    source->process = process;
    source->stream = trace_view_stream_make(view, process);
    merged->failed |= !source->stream;
    if (source->stream && trace_view_stream_next(source->stream, &source->event, &source->message))
        merged->failed |= !trace_heap_push(&merged->next, &source);
}

struct trace_view_merged *trace_view_merged_make(const struct trace_view *view)
{
    const size_t count = view->trace->process_count;
    struct trace_view_merged *merged = calloc(1, sizeof *merged);
    if (!merged)
        return NULL;
    merged->sources = calloc(count + 1, sizeof *merged->sources);
    trace_heap_start(&merged->next, sizeof(struct source *), is_source_before, NULL);
    for (uint32_t i = 0; merged->sources && i < count; i++) {
        if (trace_view_has(view, i))
            add_source(merged, view, i);
    }
    if (merged->sources && !merged->failed)
        return merged;
    trace_view_merged_free(merged);
    return NULL;
}

bool trace_view_merged_next(struct trace_view_merged *merged, struct trace_event *event,
                            uint32_t *process, uint64_t *message)
{
    struct source *const *next = trace_heap_first(&merged->next);
    if (!next)
        return false;
    struct source *first = *next;
    *event = first->event;
    *process = first->process;
    *message = first->message;
    if (trace_view_stream_next(first->stream, &first->event, &first->message))
        trace_heap_sink(&merged->next);
    else
        trace_heap_take(&merged->next, 0);
    return true;
}

bool trace_view_merged_failed(const struct trace_view_merged *merged)
{
    for (size_t i = 0; i < merged->source_count; i++) {
        if (trace_view_stream_failed(merged->sources[i].stream))
            return true;
    }
    return false;
}

void trace_view_merged_free(struct trace_view_merged *merged)
{
    if (!merged)
        return;
    for (size_t i = 0; i < merged->source_count; i++)
        trace_view_stream_free(merged->sources[i].stream);
    free(merged->sources);
    trace_heap_free(&merged->next);
    free(merged);
}
