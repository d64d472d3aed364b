/* SPDX-License-Identifier: MIT */
/* See translate.h. */
#define _GNU_SOURCE
#include "write/translate.h"

#include "layer.h"
#include "record/raw.h"
#include "record/recorder.h"
#include "write/definitions.h"

#include <stdlib.h>

enum { BLOCK = 192 * 1024 };

static void encode(struct layer *layer, struct stream *stream, struct trace_event *event)
{
    if (trace_encode(stream->encoder, event))
        stream->events++;
    else
        atomic_fetch_add(&layer->dropped, 1);
    if (event->ticks > stream->last)
        stream->last = event->ticks;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void put_call(struct layer *layer, struct stream *stream, enum trace_kind kind,
                     const struct stream_call *call, uint64_t ticks)
{
    /* The members that do not apply to a kind are not used. */
    struct trace_event event;
    event.kind = kind;
    event.ticks = ticks;
    event.function = call->function;
    event.site = call->site;
    encode(layer, stream, &event);
}

static void put_gap(struct layer *layer, struct stream *stream, enum trace_kind kind,
                    uint64_t bytes, uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, kind, ticks);
    event.bytes = bytes;
    encode(layer, stream, &event);
}

/* How long the thread waited for memory, after what was recorded before that. */
static inline void tell_flush(struct layer *layer, struct stream *stream, uint64_t ticks)
{
    if (__builtin_expect(stream->flush && ticks >= stream->flush_from, 0)) {
        put_gap(layer, stream, TRACE_FLUSH, stream->flush, stream->flush_from);
        stream->flush = 0;
    }
}

static struct stream_call call_of(struct layer *layer, int function, uint32_t site)
{
    return (struct stream_call){definitions_function(layer, &layer->writer.records, function),
                                site};
}

static void open_call(struct layer *layer, struct stream *stream, struct stream_call call,
                      uint64_t ticks)
{
    if (stream->call_count == stream->call_room) {
        const size_t room = stream->call_room ? 2 * stream->call_room : 16;
        struct stream_call *calls = realloc(stream->calls, room * sizeof *calls);
        if (!calls)
            return;
        stream->calls = calls;
        stream->call_room = room;
    }
    stream->calls[stream->call_count++] = call;
    put_call(layer, stream, TRACE_ENTER, &call, ticks);
}

/* The begin of what is closed may be lost. */
static void close_call(struct layer *layer, struct stream *stream, enum trace_kind kind,
                       uint32_t function, uint64_t ticks)
{
    if (!stream->call_count || stream->calls[stream->call_count - 1].function != function)
        return;
    put_call(layer, stream, kind, &stream->calls[--stream->call_count], ticks);
}

static void close_all(struct layer *layer, struct stream *stream, uint64_t ticks)
{
    stream->has_early = false;
    while (stream->call_count)
        put_call(layer, stream, TRACE_LEAVE, &stream->calls[--stream->call_count], ticks);
}

void translate_early(struct layer *layer, struct stream *stream, uint64_t number, uint64_t ticks)
{
    if (stream->has_early) /* that call was left without a record */
        close_call(layer, stream, TRACE_INTERRUPTED, stream->calls[stream->call_count - 1].function,
                   ticks);
    const size_t count = stream->call_count;
    tell_flush(layer, stream, ticks);
    open_call(layer, stream, call_of(layer, recorder_function(number), recorder_site(number)),
              ticks);
    stream->has_early = stream->call_count > count;
    stream->early_ticks = ticks;
}

/* Whether a record, the first one after a call was opened early, is of this call. If it is not, the
 * call was left without a record. */
static bool is_early(struct layer *layer, struct stream *stream, const struct raw_head *head,
                     uint32_t function)
{
    const struct stream_call *call = &stream->calls[stream->call_count - 1];
    stream->has_early = false;
    if (call->function == function && head->kind <= RAW_OPEN &&
        (head->kind == RAW_OPEN || head->ticks == stream->early_ticks))
        return true;
    if (head->kind != RAW_EVENT || head->event != TRACE_OFF)
        close_call(layer, stream, TRACE_INTERRUPTED, call->function, head->ticks);
    return false;
}

/* ---- Records --------------------------------------------------------------------------------- */

static void put_message(struct layer *layer, struct stream *stream, const struct raw_message *raw)
{
    struct trace_event event;
    const bool sends = raw->head.kind == RAW_SEND;
    event.kind = sends ? TRACE_SEND : TRACE_RECV;
    event.ticks = sends ? raw->head.ticks : raw->head.end;
    event.comm = raw->comm;
    event.peer = raw->peer;
    event.tag = raw->tag;
    event.bytes = raw->bytes;
    encode(layer, stream, &event);
}

static void put_event(struct layer *layer, struct stream *stream, const struct raw_event *raw)
{
    struct trace_event event;
    trace_event_clear(&event, (enum trace_kind)raw->head.event, raw->head.ticks);
    if (event.kind == TRACE_OFF)
        close_all(layer, stream, raw->head.ticks);
    if (raw->head.function != RAW_NO_FUNCTION)
        event.function = definitions_function(layer, &layer->writer.records, raw->head.function);
    event.request = raw->head.end;
    event.bytes = raw->bytes;
    event.comm = raw->comm;
    event.object = raw->object;
    event.peer = raw->peer;
    event.tag = raw->tag;
    event.root = raw->root;
    if (event.kind == TRACE_COUNTER)
        event.value = raw->value;
    else
        event.received = raw->received;
    encode(layer, stream, &event);
}

static void put_comm(struct layer *layer, struct stream *stream, uint32_t comm, uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, TRACE_CALL_OBJECT, ticks);
    event.comm = comm;
    encode(layer, stream, &event);
}

static size_t put_tests(struct layer *layer, struct stream *stream, const struct raw_tests *raw)
{
    struct trace_event event;
    event.kind = TRACE_REQUEST_TEST;
    event.ticks = raw->head.end;
    for (int i = 0; i < raw->head.event; i++) {
        event.request = raw->requests[i];
        encode(layer, stream, &event);
    }
    return sizeof *raw + raw->head.event * sizeof *raw->requests;
}

/* Returns the size of the record. */
static size_t translate(struct layer *layer, struct stream *stream, const struct raw_head *head)
{
    size_t size = sizeof *head;
    bool is_open = false;
    tell_flush(layer, stream, head->ticks);
    if (head->kind == RAW_EVENT) {
        if (stream->has_early)
            is_early(layer, stream, head, TRACE_NONE);
        put_event(layer, stream, (const struct raw_event *)(const void *)head);
        return sizeof(struct raw_event);
    }
    const struct stream_call call = call_of(layer, head->function, head->site);
    if (__builtin_expect(stream->has_early, 0))
        is_open = is_early(layer, stream, head, call.function);
    switch (head->kind) {
    case RAW_OPEN:
        if (!is_open)
            open_call(layer, stream, call, head->ticks);
        return sizeof *head;
    case RAW_CLOSE:
    case RAW_LEFT:
        close_call(layer, stream, head->kind == RAW_CLOSE ? TRACE_LEAVE : TRACE_INTERRUPTED,
                   call.function, head->ticks);
        return sizeof *head;
    default:
        break;
    }
    if (is_open)
        stream->call_count--;
    else
        put_call(layer, stream, TRACE_ENTER, &call, head->ticks);
    if (head->kind == RAW_TESTS) {
        size = put_tests(layer, stream, (const struct raw_tests *)(const void *)head);
    } else if (head->kind == RAW_CALL) {
        if (head->event)
            put_comm(layer, stream, head->event - 1, head->ticks);
    } else {
        put_message(layer, stream, (const struct raw_message *)(const void *)head);
        size = sizeof(struct raw_message);
    }
    put_call(layer, stream, TRACE_LEAVE, &call, head->end);
    return size;
}

/* What lies before the chunk is lost, or was thrown away. */
static void resume(struct layer *layer, struct stream *stream, const struct chunk *chunk)
{
    const uint64_t from = chunk->dropped ? chunk->dropped_from : stream->last;
    const bool has_events = stream->last != 0;
    if (has_events)
        close_all(layer, stream, from);
    stream->call_count = 0;
    stream->has_early = false;
    if (chunk->dropped)
        put_gap(layer, stream, TRACE_DROPPED, chunk->dropped, from);
    else if (has_events) {
        put_gap(layer, stream, TRACE_OFF, 0, from);
        put_gap(layer, stream, TRACE_ON, 0, chunk->begun);
    }
    for (int i = 0; i < chunk->call_count; i++)
        open_call(layer, stream, call_of(layer, chunk->calls[i].function, chunk->calls[i].site),
                  has_events ? chunk->begun : chunk->calls[i].ticks);
}

void translate_chunk(struct layer *layer, struct stream *stream, struct chunk *chunk)
{
    const unsigned char *end = atomic_load_explicit(&chunk->at, memory_order_acquire);
    if (chunk->read == chunk->data) {
        if (chunk->waited) {
            stream->flush = chunk->waited;
            stream->flush_from = chunk->waited_from;
        }
        if (chunk->dropped || stream->sequence != chunk->sequence)
            resume(layer, stream, chunk);
        stream->sequence = chunk->sequence + 1;
    }
    while (chunk->read < end) {
        chunk->read += translate(layer, stream, (const struct raw_head *)(void *)chunk->read);
        if (trace_encoder_size(stream->encoder) >= BLOCK)
            stream_finish_block(layer, stream);
    }
}

void translate_lost(struct layer *layer, struct stream *stream, const struct recorder *recorder)
{
    if (!recorder->dropped)
        return;
    close_all(layer, stream, recorder->dropped_from);
    put_gap(layer, stream, TRACE_DROPPED, recorder->dropped, recorder->dropped_from);
}
