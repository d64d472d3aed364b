/* SPDX-License-Identifier: MIT */
/* See translator.h. */
#define _GNU_SOURCE
#include "tools/trace/write/translator.h"

#include "tools/trace/layer.h"
#include "tools/trace/record/objects.h"
#include "tools/trace/record/recorder.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK_SIZE = 192 * 1024 };

/* ---- Streams --------------------------------------------------------------------------------- */

static struct translator *make_translator(struct layer *layer, uint32_t location, uint32_t stream)
{
    struct translator *translator = calloc(1, sizeof *translator);
    if (!translator)
        return NULL;
    translator->layer = layer;
    translator->location = location;
    translator->stream = stream;
    translator->encoder = trace_event_encoder_make(location, stream, layer->options.compress);
    if (!translator->encoder) {
        free(translator);
        return NULL;
    }
    return translator;
}

static void define_location(struct trace_bytes *records, uint32_t location, int64_t thread_id)
{
    char name[32] = "main thread";
    if (thread_id != getpid())
        snprintf(name, sizeof name, "thread %u", location + 1);
    trace_definitions_put_location(records, location,
                                   &(struct trace_location){.name = name, .thread_id = thread_id});
}

struct translator *translator_find(struct layer *layer, uint32_t location, uint32_t stream,
                                   int64_t thread_id)
{
    struct layer_writer *writer = &layer->writer;
    if (!QMPI_MEMORY_RESERVE(writer->translators, writer->location_room, (size_t)location + 1))
        return NULL;
    struct translator **place = &writer->translators[location];
    const bool is_first = !*place;
    while (*place && (*place)->stream != stream)
        place = &(*place)->next;
    if (!*place && (*place = make_translator(layer, location, stream)) && is_first)
        define_location(&writer->new_definitions, location, thread_id);
    return *place;
}

void translator_free(struct translator *translator)
{
    struct translator **place = &translator->layer->writer.translators[translator->location];
    while (*place != translator)
        place = &(*place)->next;
    *place = translator->next;
    trace_event_encoder_free(translator->encoder);
    free(translator->calls);
    free(translator);
}

void translator_finish_block(struct translator *translator)
{
    struct layer *layer = translator->layer;
    struct layer_writer *writer = &layer->writer;
    if (!translator->events)
        return;
    record_definitions_write(layer, &writer->new_definitions);
    if (writer->new_definitions.size)
        trace_definitions_put_block(&writer->out, &writer->new_definitions);
    if (trace_event_encoder_finish(translator->encoder, &writer->out))
        atomic_fetch_add(&writer->events, translator->events);
    else
        atomic_fetch_add(&layer->dropped, translator->events);
    translator->events = 0;
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Returns the index of a function, and defines the function if it is new. */
static uint32_t function_index(struct translator *translator, int number)
{
    struct layer *layer = translator->layer;
    struct layer_definitions *definitions = &layer->definitions;
    const QMPIX_Function *function;
    if (!definitions->functions)
        definitions->functions = calloc(MPI_LAST_FUNC, sizeof *definitions->functions);
    if (!definitions->functions || number >= MPI_LAST_FUNC)
        return TRACE_NONE;
    uint16_t *place = &definitions->functions[number];
    if (*place)
        return *place - 1U;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
        return TRACE_NONE;
    const struct trace_function defined = {
        .name = (char *)(uintptr_t)function->name,
        .group = (char *)(uintptr_t)qmpi_value_group_name(function->group),
        .number = (uint32_t)number};
    trace_definitions_put_function(&layer->writer.new_definitions, definitions->function_count,
                                   &defined);
    *place = (uint16_t)++definitions->function_count;
    return *place - 1U;
}

static void encode_event(struct translator *translator, struct trace_event *event)
{
    if (trace_event_encoder_add(translator->encoder, event))
        translator->events++;
    else
        atomic_fetch_add(&translator->layer->dropped, 1);
    if (event->ticks > translator->last)
        translator->last = event->ticks;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void encode_call(struct translator *translator, enum trace_event_kind kind,
                        const struct translator_call *call, uint64_t ticks)
{
    /* Members that do not apply to a kind are left uninitialized, because they are not used. */
    struct trace_event event;
    event.kind = kind;
    event.ticks = ticks;
    event.function = call->function;
    event.site = call->site;
    encode_event(translator, &event);
}

static void encode_gap(struct translator *translator, enum trace_event_kind kind, uint64_t bytes,
                       uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, kind, ticks);
    event.bytes = bytes;
    encode_event(translator, &event);
}

/* Adds an event with the time that the thread waited for memory, when the first record after the
 * wait is translated. */
static inline void encode_flush(struct translator *translator, uint64_t ticks)
{
    if (__builtin_expect(translator->flush && ticks >= translator->flush_from, 0)) {
        encode_gap(translator, TRACE_FLUSH, translator->flush, translator->flush_from);
        translator->flush = 0;
    }
}

static struct translator_call call_of(struct translator *translator, int function, uint32_t site)
{
    return (struct translator_call){function_index(translator, function), site};
}

static void open_call(struct translator *translator, struct translator_call call, uint64_t ticks)
{
    if (!QMPI_MEMORY_RESERVE(translator->calls, translator->call_room, translator->call_count + 1))
        return;
    translator->calls[translator->call_count++] = call;
    encode_call(translator, TRACE_ENTER, &call, ticks);
}

/* Closes the innermost call if it is a call of this function. Otherwise does nothing: the record of
 * the beginning was lost. */
static void close_call(struct translator *translator, enum trace_event_kind kind, uint32_t function,
                       uint64_t ticks)
{
    if (!translator->call_count ||
        translator->calls[translator->call_count - 1].function != function)
        return;
    encode_call(translator, kind, &translator->calls[--translator->call_count], ticks);
}

static void close_all_calls(struct translator *translator, uint64_t ticks)
{
    translator->has_early = false;
    while (translator->call_count)
        encode_call(translator, TRACE_LEAVE, &translator->calls[--translator->call_count], ticks);
}

void translator_begin_early(struct translator *translator, uint64_t number, uint64_t ticks)
{
    if (translator->has_early) /* the call was left by longjmp and has no further record */
        close_call(translator, TRACE_INTERRUPTED,
                   translator->calls[translator->call_count - 1].function, ticks);
    const size_t count = translator->call_count;
    encode_flush(translator, ticks);
    open_call(translator, call_of(translator, recorder_function(number), recorder_site(number)),
              ticks);
    translator->has_early = translator->call_count > count;
    translator->early_ticks = ticks;
}

/* Called for the first record after a call was begun early. Returns whether this record continues
 * the call. If it does not, and is not TRACE_OFF, which ends all calls, the call was left by
 * longjmp and has no further record. */
static bool take_early(struct translator *translator, const struct record_head *head,
                       uint32_t function)
{
    const struct translator_call *call = &translator->calls[translator->call_count - 1];
    translator->has_early = false;
    if (call->function == function && head->kind <= RECORD_OPEN &&
        (head->kind == RECORD_OPEN || head->ticks == translator->early_ticks))
        return true;
    if (head->kind != RECORD_EVENT || head->event != TRACE_OFF)
        close_call(translator, TRACE_INTERRUPTED, call->function, head->ticks);
    return false;
}

/* ---- Records --------------------------------------------------------------------------------- */

static void translate_message(struct translator *translator, const struct record_message *record)
{
    struct trace_event event;
    const bool sends = record->head.kind == RECORD_SEND;
    event.kind = sends ? TRACE_SEND : TRACE_RECV;
    event.ticks = sends ? record->head.ticks : record->head.end;
    event.comm = record->comm;
    event.peer = record->peer;
    event.tag = record->tag;
    event.bytes = record->bytes;
    encode_event(translator, &event);
}

static void translate_event(struct translator *translator, const struct record_event *record)
{
    struct trace_event event;
    trace_event_clear(&event, (enum trace_event_kind)record->head.event, record->head.ticks);
    if (event.kind == TRACE_OFF)
        close_all_calls(translator, record->head.ticks);
    if (record->head.function != RECORD_NO_FUNCTION)
        event.function = function_index(translator, record->head.function);
    event.request = record->head.end;
    event.bytes = record->bytes;
    event.comm = record->comm;
    event.object = record->object;
    event.peer = record->peer;
    event.tag = record->tag;
    event.root = record->root;
    if (event.kind == TRACE_COUNTER)
        event.value = record->value;
    else
        event.received = record->received;
    encode_event(translator, &event);
}

static void encode_call_object(struct translator *translator, uint32_t comm, uint64_t ticks)
{
    struct trace_event event;
    trace_event_clear(&event, TRACE_CALL_OBJECT, ticks);
    event.comm = comm;
    encode_event(translator, &event);
}

static size_t translate_tests(struct translator *translator, const struct record_tests *record)
{
    struct trace_event event;
    event.kind = TRACE_REQUEST_TEST;
    event.ticks = record->head.end;
    for (int i = 0; i < record->head.event; i++) {
        event.request = record->requests[i];
        encode_event(translator, &event);
    }
    return sizeof *record + record->head.event * sizeof *record->requests;
}

/* Translates a record. Returns its size. */
static size_t translate_record(struct translator *translator, const struct record_head *head)
{
    size_t size = sizeof *head;
    bool is_open = false;
    encode_flush(translator, head->ticks);
    if (head->kind == RECORD_EVENT) {
        if (translator->has_early)
            take_early(translator, head, TRACE_NONE);
        translate_event(translator, (const struct record_event *)(const void *)head);
        return sizeof(struct record_event);
    }
    const struct translator_call call = call_of(translator, head->function, head->site);
    if (__builtin_expect(translator->has_early, 0))
        is_open = take_early(translator, head, call.function);
    switch (head->kind) {
    case RECORD_OPEN:
        if (!is_open)
            open_call(translator, call, head->ticks);
        return sizeof *head;
    case RECORD_CLOSE:
    case RECORD_LEFT:
        close_call(translator, head->kind == RECORD_CLOSE ? TRACE_LEAVE : TRACE_INTERRUPTED,
                   call.function, head->ticks);
        return sizeof *head;
    default:
        break;
    }
    if (is_open)
        translator->call_count--;
    else
        encode_call(translator, TRACE_ENTER, &call, head->ticks);
    if (head->kind == RECORD_TESTS) {
        size = translate_tests(translator, (const struct record_tests *)(const void *)head);
    } else if (head->kind == RECORD_CALL) {
        if (head->event)
            encode_call_object(translator, head->event - 1, head->ticks);
    } else {
        translate_message(translator, (const struct record_message *)(const void *)head);
        size = sizeof(struct record_message);
    }
    encode_call(translator, TRACE_LEAVE, &call, head->end);
    return size;
}

/* Continues the stream after records that were lost, or chunks that a ring has dropped. */
static void resume_after_gap(struct translator *translator, const struct record_chunk *chunk)
{
    const uint64_t from = chunk->dropped ? chunk->dropped_from : translator->last;
    const bool has_events = translator->last != 0;
    if (has_events)
        close_all_calls(translator, from);
    translator->call_count = 0;
    translator->has_early = false;
    if (chunk->dropped)
        encode_gap(translator, TRACE_DROPPED, chunk->dropped, from);
    else if (has_events) {
        encode_gap(translator, TRACE_OFF, 0, from);
        encode_gap(translator, TRACE_ON, 0, chunk->begun);
    }
    for (int i = 0; i < chunk->call_count; i++)
        open_call(translator, call_of(translator, chunk->calls[i].function, chunk->calls[i].site),
                  has_events ? chunk->begun : chunk->calls[i].ticks);
}

void translator_read(struct translator *translator, struct record_chunk *chunk)
{
    const unsigned char *end = atomic_load_explicit(&chunk->at, memory_order_acquire);
    if (chunk->read == chunk->data) {
        if (chunk->waited) {
            translator->flush = chunk->waited;
            translator->flush_from = chunk->waited_from;
        }
        if (chunk->dropped || translator->sequence != chunk->sequence)
            resume_after_gap(translator, chunk);
        translator->sequence = chunk->sequence + 1;
    }
    while (chunk->read < end) {
        chunk->read +=
            translate_record(translator, (const struct record_head *)(void *)chunk->read);
        if (trace_event_encoder_size(translator->encoder) >= BLOCK_SIZE)
            translator_finish_block(translator);
    }
}

void translator_put_lost(struct translator *translator, const struct recorder *recorder)
{
    if (!recorder->dropped)
        return;
    close_all_calls(translator, recorder->dropped_from);
    encode_gap(translator, TRACE_DROPPED, recorder->dropped, recorder->dropped_from);
}
