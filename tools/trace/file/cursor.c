/* SPDX-License-Identifier: MIT */
/*
 * See cursor.h. A location has several streams if a signal handler has interrupted the recording of
 * an event. The streams of a location are merged by ticks, and the locations by times on the common
 * clock, with a heap.
 */
#include "tools/trace/file/cursor.h"

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/heap.h"
#include "tools/trace/file/source.h"
#include "util/util.h"

#include <stdlib.h>

/* ---- Streams: the events of a thread, or of a signal handler in it --------------------------- */

/* Reads the events of one stream, and does what trace_cursor_make promises: calls are nested,
 * indices are valid, calls are shortened at the ends of a selection, and TRACE_DROPPED is returned
 * where blocks are missing. */
struct stream_reader {
    const struct trace_source *source;
    const struct trace_process *process;
    const struct trace_source_stream *stream;
    uint64_t begin, end; /* the first and the last selected ticks */

    size_t next_block; /* index of the next block to load */
    bool is_after;     /* all blocks end before `begin` */
    struct trace_source_loaded loaded;
    struct trace_event_decoder decoder;
    bool is_loaded;    /* the loaded block may contain more events */
    bool has_loaded;   /* a block was loaded */
    uint64_t number;   /* number of the next event */
    uint64_t last;     /* ticks of the last event that was returned */
    uint64_t earliest; /* no event before these ticks is returned */

    struct trace_event_stack stack; /* calls in progress */
    size_t told;                    /* number of these calls whose TRACE_ENTER was returned */
    uint64_t dropped; /* number of missing events for which TRACE_DROPPED was not returned yet */
    size_t common;    /* number of calls in progress both before and after a gap between blocks */
    bool is_gap; /* the stream is in such a gap: calls end until `common` are left, and then the
                    loaded block begins */
    struct trace_event held; /* an event that was read, but not returned yet */
    bool has_held, is_at_end, is_finished;
};

static uint64_t clip_ticks(const struct stream_reader *stream, uint64_t ticks)
{
    if (ticks < stream->last)
        ticks = stream->last;
    if (ticks < stream->earliest)
        ticks = stream->earliest;
    if (ticks < stream->begin)
        ticks = stream->begin;
    return ticks < stream->end ? ticks : stream->end;
}

static void make_stream_event(struct stream_reader *stream, struct trace_event *event,
                              enum trace_event_kind kind, uint64_t ticks)
{
    trace_event_clear(event, kind, clip_ticks(stream, ticks));
    event->location = stream->stream->location;
    stream->last = event->ticks;
}

/* Returns whether the call at this depth gets a TRACE_LEAVE. It gets none only if the process ended
 * in the call, within the selection. */
static bool ends_within(const struct stream_reader *stream, size_t depth)
{
    const struct trace_event_stack *end = &stream->stream->end;
    return depth >= end->depth || end->calls[depth].number != stream->stack.calls[depth].number ||
           stream->process->end_ticks > stream->end;
}

/* Takes the outermost call whose TRACE_ENTER was not returned yet. Sets `event` to this
 * TRACE_ENTER, and `depth` to the depth of the call. */
static void make_enter(struct stream_reader *stream, struct trace_event *event, size_t *depth)
{
    *depth = stream->told++;
    const struct trace_event_stack_call *call = &stream->stack.calls[*depth];
    make_stream_event(stream, event, TRACE_ENTER, call->ticks);
    event->function = call->function;
    event->site = call->site;
    event->is_known = ends_within(stream, *depth);
}

/* Sets `event` to the end of the innermost call. */
static void make_leave(struct stream_reader *stream, struct trace_event *event,
                       enum trace_event_kind kind, uint64_t ticks, size_t *depth)
{
    *depth = --stream->stack.depth;
    const struct trace_event_stack_call *call = &stream->stack.calls[*depth];
    stream->told = *depth;
    make_stream_event(stream, event, kind, ticks);
    event->function = call->function;
    event->site = call->site;
}

/* Continues with the loaded block, whose calls in progress replace the previous ones. */
static void continue_block(struct stream_reader *stream)
{
    struct trace_event_stack stack = stream->stack;
    stream->stack = stream->loaded.stack;
    stream->loaded.stack = stack;
    /* In a ring, the first block may begin after the end of the selection. Calls that begin after
     * this end are not in the selection. */
    while (stream->stack.depth && stream->stack.calls[stream->stack.depth - 1].ticks > stream->end)
        stream->stack.depth--;
    if (stream->told > stream->stack.depth)
        stream->told = stream->stack.depth;
    stream->number = stream->loaded.head.number;
    stream->is_gap = false;
    stream->is_loaded = true;
}

static bool is_same_call(const struct trace_event_stack_call *one,
                         const struct trace_event_stack_call *other)
{
    return one->number == other->number && one->function == other->function &&
           one->site == other->site;
}

/* Handles the transition between two blocks. Usually, no event is missing, and the calls in
 * progress are the same. */
static void begin_gap(struct stream_reader *stream)
{
    const struct trace_event_stack *stack = &stream->stack, *after = &stream->loaded.stack;
    const uint64_t missing = stream->loaded.head.number - stream->number;
    size_t common = 0;
    while (common < stack->depth && common < after->depth &&
           is_same_call(&stack->calls[common], &after->calls[common]))
        common++;
    stream->common = common;
    stream->is_gap = true;
    stream->is_loaded = false;
    if (stream->number || !stream->process->is_ring)
        stream->dropped += missing;
}

/* Loads the next block that is not damaged. Returns false if there is none in the selection. */
static bool load_block(struct stream_reader *stream, struct trace_bytes *scratch)
{
    while (stream->next_block < stream->stream->count) {
        const struct trace_source_block *block = &stream->stream->blocks[stream->next_block++];
        /* The first block is loaded in any case, because its calls in progress are needed. */
        if (block->first > stream->end && stream->has_loaded)
            return false;
        if (!trace_source_load(stream->source, block, &stream->loaded, scratch) ||
            !trace_event_stack_is_valid(stream->process, stream->source->unknown,
                                        &stream->loaded.stack) ||
            !trace_event_decoder_begin(&stream->decoder, &stream->loaded.head,
                                       stream->loaded.body.data, stream->loaded.body.size))
            continue;
        stream->has_loaded = true;
        begin_gap(stream);
        return true;
    }
    return false;
}

static void begin_stream(struct stream_reader *stream)
{
    const struct trace_source_stream *blocks = stream->stream;
    stream->decoder.fields = stream->source->fields;
    stream->earliest = trace_source_begin(blocks, stream->process->is_ring);
    /* Blocks that end before the selection are skipped: the next block contains the calls in
     * progress. */
    size_t low = 0, high = blocks->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (blocks->blocks[middle].last < stream->begin)
            low = middle + 1;
        else
            high = middle;
    }
    stream->next_block = low;
    stream->is_after = low == blocks->count;
    if (low && !stream->is_after)
        stream->number = blocks->blocks[low].number;
}

static void free_stream(struct stream_reader *stream)
{
    trace_source_free_block(&stream->loaded);
    trace_event_decoder_free(&stream->decoder);
    trace_event_stack_free(&stream->stack);
}

/* Handles the end of the stream, or of its part in the selection: finds out how many events are
 * missing there, and which calls are in progress. Returns false. */
static bool read_stream_end(struct stream_reader *stream)
{
    const struct trace_event_stack *end = &stream->stream->end;
    const struct trace_source_block *block = &stream->stream->blocks[stream->stream->count - 1];
    stream->is_at_end = true;
    if (!stream->is_after && stream->next_block == stream->stream->count &&
        block->first <= stream->end && stream->number < block->number + block->events)
        stream->dropped += block->number + block->events - stream->number;
    if (stream->is_after && stream->process->end_ticks >= stream->begin)
        for (size_t i = 0; i < end->depth; i++)
            if (!trace_event_stack_push(&stream->stack, end->calls[i]))
                break;
    if (!trace_event_stack_is_valid(stream->process, stream->source->unknown, &stream->stack))
        stream->stack.depth = 0;
    return false;
}

/* Reads an event into `held`. Returns false at the end of the stream and at a gap. */
static bool read_held_event(struct stream_reader *stream, struct trace_bytes *scratch)
{
    struct trace_event *event = &stream->held;
    for (;;) {
        if (!stream->is_loaded && !load_block(stream, scratch))
            return read_stream_end(stream);
        if (stream->is_gap)
            return false;
        if (!trace_event_decoder_next(&stream->decoder, event)) {
            stream->is_loaded = false;
            continue;
        }
        stream->number++;
        if ((int)event->kind >= TRACE_KINDS)
            continue;
        event->location = stream->stream->location;
        if (event->kind == TRACE_ENTER &&
            (!trace_event_is_valid(stream->process, stream->source->unknown, event) ||
             stream->stack.depth > TRACE_EVENT_CALLS_MAX)) {
            /* The rest of the block cannot be decoded, so it counts as missing. */
            stream->number--;
            stream->is_loaded = false;
            continue;
        }
        if (!trace_event_is_valid(stream->process, stream->source->unknown, event)) {
            stream->dropped++;
            continue;
        }
        return true;
    }
}

/* Returns whether the held event is before the selection. If it is, notes its effect on the calls
 * in progress, because the event itself will not be returned. */
static bool is_before_begin(struct stream_reader *stream)
{
    const struct trace_event *event = &stream->held;
    if (event->ticks >= stream->begin)
        return false;
    trace_event_stack_note(&stream->stack, event, event->ticks, stream->number - 1);
    stream->dropped = 0;
    return true;
}

/* Sets `event` to the held event. Returns false if this event must not be returned. */
static bool give_held(struct stream_reader *stream, struct trace_event *event, size_t *depth)
{
    stream->has_held = false;
    const struct trace_event *held = &stream->held;
    *depth = stream->stack.depth;
    switch (held->kind) {
    case TRACE_ENTER:
        if (!trace_event_stack_push(
                &stream->stack, (struct trace_event_stack_call){held->function, held->site,
                                                                held->ticks, stream->number - 1}))
            return false;
        make_enter(stream, event, depth);
        return true;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        if (!stream->stack.depth)
            return false;
        make_leave(stream, event, held->kind, held->ticks, depth);
        return true;
    default:
        *event = *held;
        stream->last = held->ticks;
        return true;
    }
}

/* Ends one of the calls that ended in a gap: sets `event` to its end, or only removes the call if
 * its TRACE_ENTER was not returned. If there is no such call, begins the block after the gap.
 * Returns whether `event` was set. */
static bool give_gap(struct stream_reader *stream, struct trace_event *event, size_t *depth)
{
    if (stream->stack.depth > stream->common) {
        if (stream->stack.depth > stream->told) {
            stream->stack.depth--;
            return false;
        }
        make_leave(stream, event, TRACE_LEAVE, stream->last, depth);
        return true;
    }
    continue_block(stream);
    return false;
}

/* Sets `event` to the end of a call after the last event of the stream. The call ends with the
 * selection if the process ran beyond it, and otherwise at the last event that was returned. Calls
 * in which the process ended have no end. Returns whether `event` was set. */
static bool give_last(struct stream_reader *stream, struct trace_event *event, size_t *depth)
{
    const bool is_cut = stream->process->end_ticks > stream->end;
    if (stream->stack.depth && ends_within(stream, stream->stack.depth - 1)) {
        make_leave(stream, event, TRACE_LEAVE, is_cut ? stream->end : stream->last, depth);
        return true;
    }
    stream->is_finished = true;
    return false;
}

static bool next_of_stream(struct stream_reader *stream, struct trace_event *event, size_t *depth,
                           struct trace_bytes *scratch)
{
    while (!stream->is_finished) {
        const bool has_begun = stream->has_held || stream->is_at_end;
        if (stream->is_gap) {
            if (give_gap(stream, event, depth))
                return true;
        } else if (has_begun && stream->dropped) {
            make_stream_event(stream, event, TRACE_DROPPED, stream->last);
            event->bytes = stream->dropped;
            stream->dropped = 0;
            *depth = stream->stack.depth;
            return true;
        } else if (has_begun && stream->told < stream->stack.depth) {
            make_enter(stream, event, depth);
            return true;
        } else if (stream->has_held) {
            if (give_held(stream, event, depth))
                return true;
        } else if (stream->is_at_end) {
            if (give_last(stream, event, depth))
                return true;
        } else if (read_held_event(stream, scratch)) {
            stream->is_at_end = stream->held.ticks > stream->end;
            if (stream->earliest > stream->end)
                stream->dropped = 0;
            if (!stream->is_at_end)
                stream->has_held = !is_before_begin(stream);
        }
    }
    return false;
}

/* ---- Locations ------------------------------------------------------------------------------- */

/* A call in progress: the stream that contains it, and its depth there. */
struct call_owner {
    size_t stream, depth;
    uint32_t function, site;
};

struct stream_peek {
    struct trace_event event;
    size_t depth;
    bool is_there;
};

struct location_reader {
    struct stream_reader *streams;
    struct stream_peek *peeks; /* the next event of each stream */
    size_t count;
    struct call_owner *owners; /* the outermost call first */
    size_t depth, room;
};

static void peek_stream(struct location_reader *location, size_t i, struct trace_bytes *scratch)
{
    struct stream_peek *next = &location->peeks[i];
    next->is_there = next_of_stream(&location->streams[i], &next->event, &next->depth, scratch);
    if (!next->is_there)
        free_stream(&location->streams[i]);
}

static void free_location(struct location_reader *location)
{
    for (size_t i = 0; i < location->count; i++)
        free_stream(&location->streams[i]);
    free(location->streams);
    free(location->peeks);
    free(location->owners);
    *location = (struct location_reader){0};
}

static bool make_location(struct location_reader *location, const struct trace_source *source,
                          const struct trace_process *process,
                          const struct trace_source_stream *streams, size_t count, uint64_t begin,
                          uint64_t end, struct trace_bytes *scratch)
{
    *location = (struct location_reader){.streams = calloc(count, sizeof *location->streams),
                                         .peeks = calloc(count, sizeof *location->peeks)};
    if (!location->streams || !location->peeks) {
        free_location(location);
        return false;
    }
    for (; location->count < count; location->count++) {
        struct stream_reader *stream = &location->streams[location->count];
        stream->source = source;
        stream->process = process;
        stream->stream = &streams[location->count];
        stream->begin = begin;
        stream->end = end;
        begin_stream(stream);
        peek_stream(location, location->count, scratch);
    }
    return true;
}

/* Returns the index of the stream with the earliest event, or `count` if no stream has an event. If
 * times are equal, prefers the stream of the innermost call in progress. */
static size_t choose_stream(const struct location_reader *location)
{
    const size_t inner =
        location->depth ? location->owners[location->depth - 1].stream : location->count;
    size_t chosen = location->count;
    for (size_t i = 0; i < location->count; i++) {
        if (!location->peeks[i].is_there)
            continue;
        if (chosen == location->count ||
            location->peeks[i].event.ticks < location->peeks[chosen].event.ticks ||
            (location->peeks[i].event.ticks == location->peeks[chosen].event.ticks && i == inner))
            chosen = i;
    }
    return chosen;
}

static bool push_owner(struct location_reader *location, struct call_owner owner)
{
    if (!QMPI_MEMORY_RESERVE(location->owners, location->room, location->depth + 1))
        return false;
    location->owners[location->depth++] = owner;
    return true;
}

/* Returns whether a call of a stream is still in progress in the location. It is not if its signal
 * handler was left and a call outside of the handler has ended. */
static bool is_call_in_progress(const struct location_reader *location, size_t stream, size_t depth)
{
    for (size_t i = location->depth; i > 0; i--)
        if (location->owners[i - 1].stream == stream && location->owners[i - 1].depth == depth)
            return true;
    return false;
}

static bool next_of_location(struct location_reader *location, struct trace_event *event,
                             struct trace_bytes *scratch)
{
    for (;;) {
        const size_t i = location->count == 1 ? 0 : choose_stream(location);
        if (i == location->count || !location->peeks[i].is_there)
            return false;
        const struct stream_peek *next = &location->peeks[i];
        const bool ends = next->event.kind == TRACE_LEAVE || next->event.kind == TRACE_INTERRUPTED;
        *event = next->event;
        if (location->count > 1 && event->kind == TRACE_ENTER &&
            !push_owner(location,
                        (struct call_owner){i, next->depth, event->function, event->site}))
            return false;
        if (location->count > 1 && ends) {
            if (!is_call_in_progress(location, i, next->depth)) {
                peek_stream(location, i, scratch);
                continue;
            }
            const struct call_owner *inner = &location->owners[--location->depth];
            if (inner->stream != i || inner->depth != next->depth) {
                /* The innermost call is in another stream. It ends here, because its signal handler
                 * was left. */
                trace_event_clear(event, TRACE_INTERRUPTED, next->event.ticks);
                event->location = next->event.location;
                event->function = inner->function;
                event->site = inner->site;
                return true;
            }
        }
        peek_stream(location, i, scratch);
        return true;
    }
}

/* ---- Cursors --------------------------------------------------------------------------------- */

/* A location that has a next event. */
struct cursor_entry {
    struct location_reader location;
    struct trace_event event;
    uint32_t process;
    const struct trace_clock_line *clock;
};

struct trace_cursor {
    const struct trace *trace;
    struct trace_cursor_selection selection;
    struct trace_bytes scratch;
    struct trace_heap entries; /* struct cursor_entry *, ordered by the times of their next
                                  events */
};

static bool is_entry_before(const void *context, const void *one, const void *other)
{
    const struct cursor_entry *mine = *(struct cursor_entry *const *)one,
                              *its = *(struct cursor_entry *const *)other;
    (void)context;
    if (mine->event.time != its->event.time)
        return mine->event.time < its->event.time;
    if (mine->process != its->process)
        return mine->process < its->process;
    return mine->event.location < its->event.location;
}

static void free_entry(struct cursor_entry *entry)
{
    free_location(&entry->location);
    free(entry);
}

static bool advance_entry(struct trace_cursor *cursor, struct cursor_entry *entry)
{
    if (!next_of_location(&entry->location, &entry->event, &cursor->scratch))
        return false;
    int64_t time = trace_clock_line_time(entry->clock, entry->event.ticks);
    /* Rounding must not move an event out of the selection. */
    if (cursor->selection.has_begin && time < cursor->selection.begin)
        time = cursor->selection.begin;
    if (cursor->selection.has_end && time > cursor->selection.end)
        time = cursor->selection.end;
    entry->event.time = time;
    return true;
}

/* Adds an entry, or frees it if it has no event. Returns false if memory is exhausted. */
static bool add_location_entry(struct trace_cursor *cursor, struct cursor_entry *entry)
{
    const bool has_event = advance_entry(cursor, entry);
    const bool is_added = has_event && trace_heap_push(&cursor->entries, &entry);
    if (!is_added)
        free_entry(entry);
    return is_added || !has_event;
}

/* Sets the first and the last selected ticks of a process. Returns false if there are none. */
static bool find_ticks(const struct trace_cursor *cursor, const struct trace_clock_line *clock,
                       uint64_t *begin, uint64_t *end)
{
    const struct trace_cursor_selection *selection = &cursor->selection;
    *begin = 0;
    *end = UINT64_MAX;
    if (selection->has_begin && !trace_clock_line_find(clock, selection->begin, begin))
        return false;
    if (selection->has_end && selection->end < INT64_MAX &&
        trace_clock_line_find(clock, selection->end + 1, end)) {
        if (!*end)
            return false;
        --*end;
    }
    return *begin <= *end;
}

static bool add_process(struct trace_cursor *cursor, uint32_t process, uint32_t location)
{
    const struct trace_source *source = trace_reader_source(cursor->trace, process);
    const struct trace_clock_line *clock = trace_reader_clock(cursor->trace, process);
    uint64_t begin, end;
    if (cursor->selection.processes && !cursor->selection.processes[process])
        return true;
    if (!find_ticks(cursor, clock, &begin, &end))
        return true;
    for (size_t i = 0, next; i < source->stream_count; i = next) {
        for (next = i + 1; next < source->stream_count &&
                           source->streams[next].location == source->streams[i].location;)
            next++;
        if (location != TRACE_NONE && location != source->streams[i].location)
            continue;
        struct cursor_entry *entry = calloc(1, sizeof *entry);
        if (!entry)
            return false;
        entry->process = process;
        entry->clock = clock;
        if (!make_location(&entry->location, source, &cursor->trace->processes[process],
                           &source->streams[i], next - i, begin, end, &cursor->scratch)) {
            free(entry);
            return false;
        }
        if (!add_location_entry(cursor, entry))
            return false;
    }
    return true;
}

struct trace_cursor *trace_cursor_make(const struct trace *trace, uint32_t process,
                                       uint32_t location,
                                       const struct trace_cursor_selection *selection)
{
    struct trace_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    cursor->trace = trace;
    trace_heap_start(&cursor->entries, sizeof(struct cursor_entry *), is_entry_before, NULL);
    if (selection)
        cursor->selection = *selection;
    bool whole = true;
    for (uint32_t i = 0; whole && i < trace->process_count; i++)
        if (process == TRACE_NONE || process == i)
            whole = add_process(cursor, i, location);
    if (whole)
        return cursor;
    trace_cursor_free(cursor);
    return NULL;
}

bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event, uint32_t *process)
{
    struct cursor_entry *const *first = trace_heap_first(&cursor->entries);
    if (!first)
        return false;
    struct cursor_entry *entry = *first;
    *event = entry->event;
    if (process)
        *process = entry->process;
    if (advance_entry(cursor, entry)) {
        trace_heap_sink(&cursor->entries);
    } else {
        trace_heap_take(&cursor->entries, 0);
        free_entry(entry);
    }
    return true;
}

void trace_cursor_free(struct trace_cursor *cursor)
{
    if (!cursor)
        return;
    for (struct cursor_entry *const *entry; (entry = trace_heap_first(&cursor->entries));) {
        free_entry(*entry);
        trace_heap_take(&cursor->entries, 0);
    }
    trace_heap_free(&cursor->entries);
    trace_bytes_free(&cursor->scratch);
    free(cursor);
}
