/* SPDX-License-Identifier: MIT */
/* The merged streams of view.h: a heap of the next event of each process. */
#include "trace/view.h"

#include <stdlib.h>

struct source {
    struct trace_view_stream *stream;
    uint32_t process;
    struct trace_event event;
    uint64_t message;
};

struct trace_merged {
    struct source *sources;
    size_t source_count;
    struct source **heap;
    size_t count;
    bool failed;
};

static bool is_before(const struct source *one, const struct source *other)
{
    return one->event.time != other->event.time ? one->event.time < other->event.time
                                                : one->process < other->process;
}

/* Moves the element at `at` down to its place. */
static void sift(struct trace_merged *merged, size_t at)
{
    struct source *moved = merged->heap[at];
    for (size_t child; (child = 2 * at + 1) < merged->count; at = child) {
        if (child + 1 < merged->count && is_before(merged->heap[child + 1], merged->heap[child]))
            child++;
        if (!is_before(merged->heap[child], moved))
            break;
        merged->heap[at] = merged->heap[child];
    }
    merged->heap[at] = moved;
}

static void add(struct trace_merged *merged, const struct trace_view *view, uint32_t process)
{
    struct source *source = &merged->sources[merged->source_count++];
    source->process = process;
    source->stream = trace_view_stream_make(view, process);
    merged->failed |= !source->stream;
    if (source->stream && trace_view_stream_next(source->stream, &source->event, &source->message))
        merged->heap[merged->count++] = source;
}

struct trace_merged *trace_merged_make(const struct trace_view *view)
{
    const size_t count = view->trace->process_count;
    struct trace_merged *merged = calloc(1, sizeof *merged);
    if (!merged)
        return NULL;
    merged->sources = calloc(count + 1, sizeof *merged->sources);
    merged->heap = calloc(count + 1, sizeof(struct source *));
    for (uint32_t i = 0; merged->sources && merged->heap && i < count; i++) {
        if (trace_view_has(view, i))
            add(merged, view, i);
    }
    if (!merged->sources || !merged->heap || merged->failed) {
        trace_merged_free(merged);
        return NULL;
    }
    for (size_t i = merged->count / 2; i-- > 0;)
        sift(merged, i);
    return merged;
}

bool trace_merged_next(struct trace_merged *merged, struct trace_event *event, uint32_t *process,
                       uint64_t *message)
{
    if (!merged->count)
        return false;
    struct source *first = merged->heap[0];
    *event = first->event;
    *process = first->process;
    *message = first->message;
    if (!trace_view_stream_next(first->stream, &first->event, &first->message))
        merged->heap[0] = merged->heap[--merged->count];
    if (merged->count)
        sift(merged, 0);
    return true;
}

bool trace_merged_failed(const struct trace_merged *merged)
{
    for (size_t i = 0; i < merged->source_count; i++) {
        if (trace_view_stream_failed(merged->sources[i].stream))
            return true;
    }
    return false;
}

void trace_merged_free(struct trace_merged *merged)
{
    if (!merged)
        return;
    for (size_t i = 0; i < merged->source_count; i++)
        trace_view_stream_free(merged->sources[i].stream);
    free(merged->sources);
    free(merged->heap);
    free(merged);
}
