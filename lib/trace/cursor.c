/* SPDX-License-Identifier: MIT */
/* See reader.h: merges the events of locations by their corrected times, with a heap. */
#include "trace/bytes.h"
#include "trace/lane.h"
#include "trace/opened.h"
#include "trace/reader.h"

#include <stdlib.h>

/* A location that has a next event. */
struct entry {
    struct trace_lane lane;
    struct trace_event event;
    uint32_t process;
};

struct trace_cursor {
    const struct trace_opened *opened;
    struct trace_selection selection;
    struct trace_bytes scratch;
    struct entry **heap; /* the earliest first */
    size_t count, room;
};

/* ---- The heap -------------------------------------------------------------------------------- */

static bool is_earlier(const struct entry *one, const struct entry *other)
{
    if (one->event.time != other->event.time)
        return one->event.time < other->event.time;
    if (one->process != other->process)
        return one->process < other->process;
    return one->event.location < other->event.location;
}

static void sink(struct trace_cursor *cursor, size_t i)
{
    struct entry **heap = cursor->heap, *entry = heap[i];
    for (size_t child; (child = 2 * i + 1) < cursor->count; i = child) {
        if (child + 1 < cursor->count && is_earlier(heap[child + 1], heap[child]))
            child++;
        if (!is_earlier(heap[child], entry))
            break;
        heap[i] = heap[child];
    }
    heap[i] = entry;
}

static void rise(struct trace_cursor *cursor, size_t i)
{
    struct entry **heap = cursor->heap, *entry = heap[i];
    for (; i && is_earlier(entry, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

static void free_entry(struct entry *entry)
{
    trace_lane_free(&entry->lane);
    free(entry);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool advance(struct trace_cursor *cursor, struct entry *entry)
{
    if (!trace_lane_next(&entry->lane, &entry->event, &cursor->scratch))
        return false;
    int64_t time =
        trace_clock_line_time(&cursor->opened->lines[entry->process], entry->event.ticks);
    /* Not even by rounding. */
    if (cursor->selection.has_begin && time < cursor->selection.begin)
        time = cursor->selection.begin;
    if (cursor->selection.has_end && time > cursor->selection.end)
        time = cursor->selection.end;
    entry->event.time = time;
    return true;
}

static bool add_entry(struct trace_cursor *cursor, struct entry *entry)
{
    if (cursor->count == cursor->room) {
        const size_t room = cursor->room ? 2 * cursor->room : 16;
        void *heap = realloc(cursor->heap, room * sizeof(struct entry *));
        if (!heap) {
            free_entry(entry);
            return false;
        }
        cursor->heap = heap;
        cursor->room = room;
    }
    if (!advance(cursor, entry)) {
        free_entry(entry);
        return true;
    }
    cursor->heap[cursor->count++] = entry;
    rise(cursor, cursor->count - 1);
    return true;
}

/* The ticks of a process that are selected. Returns false if there are none. */
static bool find_ticks(const struct trace_cursor *cursor, uint32_t process, uint64_t *begin,
                       uint64_t *end)
{
    const struct trace_selection *selection = &cursor->selection;
    const struct trace_clock_line *line = &cursor->opened->lines[process];
    *begin = 0;
    *end = UINT64_MAX;
    if (selection->has_begin && !trace_clock_line_find(line, selection->begin, begin))
        return false;
    if (selection->has_end && selection->end < INT64_MAX &&
        trace_clock_line_find(line, selection->end + 1, end)) {
        if (!*end)
            return false;
        --*end;
    }
    return *begin <= *end;
}

static bool add_process(struct trace_cursor *cursor, uint32_t process, uint32_t location)
{
    const struct trace_opened *opened = cursor->opened;
    const struct trace_source *source = &opened->sources[process];
    uint64_t begin, end;
    if (cursor->selection.processes && !cursor->selection.processes[process])
        return true;
    if (!find_ticks(cursor, process, &begin, &end))
        return true;
    for (size_t i = 0, next; i < source->stream_count; i = next) {
        for (next = i + 1; next < source->stream_count &&
                           source->streams[next].location == source->streams[i].location;)
            next++;
        if (location != TRACE_NONE && location != source->streams[i].location)
            continue;
        struct entry *entry = calloc(1, sizeof *entry);
        if (!entry)
            return false;
        entry->process = process;
        if (!trace_lane_make(&entry->lane, source, &opened->trace.processes[process],
                             &source->streams[i], next - i, begin, end, &cursor->scratch)) {
            free(entry);
            return false;
        }
        if (!add_entry(cursor, entry))
            return false;
    }
    return true;
}

struct trace_cursor *trace_cursor_make(const struct trace *trace, uint32_t process,
                                       uint32_t location, const struct trace_selection *selection)
{
    struct trace_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    cursor->opened = (const struct trace_opened *)trace;
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
    if (!cursor->count)
        return false;
    struct entry *entry = cursor->heap[0];
    *event = entry->event;
    if (process)
        *process = entry->process;
    if (!advance(cursor, entry)) {
        free_entry(entry);
        cursor->heap[0] = cursor->heap[--cursor->count];
    }
    if (cursor->count)
        sink(cursor, 0);
    return true;
}

void trace_cursor_free(struct trace_cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t i = 0; i < cursor->count; i++)
        free_entry(cursor->heap[i]);
    free(cursor->heap);
    trace_bytes_free(&cursor->scratch);
    free(cursor);
}
