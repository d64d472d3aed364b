/* SPDX-License-Identifier: MIT */
/* See stream.h. */
#include "trace/stream.h"

#include "trace/valid.h"

#include <stdlib.h>

/* ---- Events of calls ------------------------------------------------------------------------- */

static uint64_t clip(const struct trace_stream *stream, uint64_t ticks)
{
    if (ticks < stream->last)
        ticks = stream->last;
    if (ticks < stream->earliest)
        ticks = stream->earliest;
    if (ticks < stream->begin)
        ticks = stream->begin;
    return ticks < stream->end ? ticks : stream->end;
}

static void make_event(struct trace_stream *stream, struct trace_event *event, enum trace_kind kind,
                       uint64_t ticks)
{
    trace_event_clear(event, kind, clip(stream, ticks));
    event->location = stream->stream->location;
    stream->last = event->ticks;
}

/* Whether a call ends before the end of what is given. */
static bool is_known(const struct trace_stream *stream, size_t depth)
{
    const struct trace_stack *end = &stream->stream->end;
    return depth >= end->depth || end->calls[depth].number != stream->stack.calls[depth].number ||
           stream->process->end_ticks > stream->end;
}

/* The first call that has not been given yet. */
static void make_enter(struct trace_stream *stream, struct trace_event *event, size_t *depth)
{
    *depth = stream->told++;
    const struct trace_call *call = &stream->stack.calls[*depth];
    make_event(stream, event, TRACE_ENTER, call->ticks);
    event->function = call->function;
    event->site = call->site;
    event->is_known = is_known(stream, *depth);
}

/* The innermost call is left. */
static void make_leave(struct trace_stream *stream, struct trace_event *event, enum trace_kind kind,
                       uint64_t ticks, size_t *depth)
{
    *depth = --stream->stack.depth;
    const struct trace_call *call = &stream->stack.calls[*depth];
    stream->told = *depth;
    make_event(stream, event, kind, ticks);
    event->function = call->function;
    event->site = call->site;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Goes on with the block that is loaded, whose calls in progress replace those before it. */
static void continue_block(struct trace_stream *stream)
{
    struct trace_stack stack = stream->stack;
    stream->stack = stream->loaded.stack;
    stream->loaded.stack = stack;
    /* In a ring, the first block may be later than what is wanted. */
    while (stream->stack.depth && stream->stack.calls[stream->stack.depth - 1].ticks > stream->end)
        stream->stack.depth--;
    if (stream->told > stream->stack.depth)
        stream->told = stream->stack.depth;
    stream->number = stream->loaded.head.number;
    stream->is_gap = false;
    stream->is_loaded = true;
}

static bool is_same_call(const struct trace_call *one, const struct trace_call *other)
{
    return one->number == other->number && one->function == other->function &&
           one->site == other->site;
}

/* Between two blocks: usually, no event is missing, and the calls in progress are the same. */
static void note_gap(struct trace_stream *stream)
{
    const struct trace_stack *stack = &stream->stack, *after = &stream->loaded.stack;
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

/* Loads the next block. Returns false at the end; damaged blocks are skipped. */
static bool load_block(struct trace_stream *stream, struct trace_bytes *scratch)
{
    while (stream->next_block < stream->stream->count) {
        const struct trace_source_block *block = &stream->stream->blocks[stream->next_block++];
        /* Of the first one, the calls in progress are needed in any case. */
        if (block->first > stream->end && stream->has_loaded)
            return false;
        if (!trace_source_load(stream->source, block, &stream->loaded, scratch) ||
            !trace_stack_is_valid(stream->process, stream->source->unknown,
                                  &stream->loaded.stack) ||
            !trace_decoder_begin(&stream->decoder, &stream->loaded.head, stream->loaded.body.data,
                                 stream->loaded.body.size))
            continue;
        stream->has_loaded = true;
        note_gap(stream);
        return true;
    }
    return false;
}

void trace_stream_begin(struct trace_stream *stream)
{
    const struct trace_source_stream *blocks = stream->stream;
    stream->decoder.fields = stream->source->fields;
    stream->earliest = trace_source_begin(blocks, stream->process->is_ring);
    /* Blocks that end before the beginning are skipped: the next one tells the calls in progress.
     */
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

void trace_stream_free(struct trace_stream *stream)
{
    trace_loaded_block_free(&stream->loaded);
    trace_decoder_free(&stream->decoder);
    trace_stack_free(&stream->stack);
}

/* ---- The events of blocks -------------------------------------------------------------------- */

/* At the end of the blocks. What is in progress then was not left. */
static bool read_end(struct trace_stream *stream)
{
    const struct trace_stack *end = &stream->stream->end;
    const struct trace_source_block *block = &stream->stream->blocks[stream->stream->count - 1];
    stream->is_at_end = true;
    if (!stream->is_after && stream->next_block == stream->stream->count &&
        block->first <= stream->end && stream->number < block->number + block->events)
        stream->dropped += block->number + block->events - stream->number;
    if (stream->is_after && stream->process->end_ticks >= stream->begin)
        for (size_t i = 0; i < end->depth; i++)
            if (!trace_stack_push(&stream->stack, end->calls[i]))
                break;
    if (!trace_stack_is_valid(stream->process, stream->source->unknown, &stream->stack))
        stream->stack.depth = 0;
    return false;
}

/* Reads an event into `held`. Returns false at the end, and at a gap. */
static bool read_event(struct trace_stream *stream, struct trace_bytes *scratch)
{
    struct trace_event *event = &stream->held;
    for (;;) {
        if (!stream->is_loaded && !load_block(stream, scratch))
            return read_end(stream);
        if (stream->is_gap)
            return false;
        if (!trace_decode(&stream->decoder, event)) {
            stream->is_loaded = false;
            continue;
        }
        stream->number++;
        if ((int)event->kind >= TRACE_KINDS)
            continue;
        event->location = stream->stream->location;
        if (event->kind == TRACE_ENTER &&
            (!trace_event_is_valid(stream->process, stream->source->unknown, event) ||
             stream->stack.depth > TRACE_DEPTH_MAX)) {
            /* The rest of the block cannot be understood: it counts as missing. */
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

/* Before the beginning, only the calls in progress matter. */
static bool is_before(struct trace_stream *stream)
{
    const struct trace_event *event = &stream->held;
    if (event->ticks >= stream->begin)
        return false;
    trace_stack_note(&stream->stack, event, event->ticks, stream->number - 1);
    stream->dropped = 0;
    return true;
}

/* Gives the event that was read. Returns false if nothing is to be given. */
static bool give_held(struct trace_stream *stream, struct trace_event *event, size_t *depth)
{
    stream->has_held = false;
    const struct trace_event *held = &stream->held;
    *depth = stream->stack.depth;
    switch (held->kind) {
    case TRACE_ENTER:
        if (!trace_stack_push(&stream->stack, (struct trace_call){held->function, held->site,
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

/* ---- All together ---------------------------------------------------------------------------- */

/* In a gap: events are missing, calls that ended in it are left, and the block after it begins. */
static bool give_gap(struct trace_stream *stream, struct trace_event *event, size_t *depth)
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

/* After the last event: calls end with the selection, or where the rest is missing, but for those
 * in which the process ended. */
static bool give_last(struct trace_stream *stream, struct trace_event *event, size_t *depth)
{
    const bool is_cut = stream->process->end_ticks > stream->end;
    if (stream->stack.depth && is_known(stream, stream->stack.depth - 1)) {
        make_leave(stream, event, TRACE_LEAVE, is_cut ? stream->end : stream->last, depth);
        return true;
    }
    stream->is_finished = true;
    return false;
}

bool trace_stream_next(struct trace_stream *stream, struct trace_event *event, size_t *depth,
                       struct trace_bytes *scratch)
{
    while (!stream->is_finished) {
        const bool has_begun = stream->has_held || stream->is_at_end;
        if (stream->is_gap) {
            if (give_gap(stream, event, depth))
                return true;
        } else if (has_begun && stream->dropped) {
            make_event(stream, event, TRACE_DROPPED, stream->last);
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
        } else if (read_event(stream, scratch)) {
            stream->is_at_end = stream->held.ticks > stream->end;
            if (stream->earliest > stream->end)
                stream->dropped = 0;
            if (!stream->is_at_end)
                stream->has_held = !is_before(stream);
        }
    }
    return false;
}
