/* SPDX-License-Identifier: MIT */
/* See recorder.h. */
#define _GNU_SOURCE
#include "record/recorder.h"

#include "util/util.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE = 10 /* seconds without progress of the writer */, REQUESTS = 1 << 16 };

/* ---- Threads --------------------------------------------------------------------------------- */

/* The thread of a level ends: the next one that uses the level is another location. */
static void leave(struct thread_level *level)
{
    struct recorder_row *row = (struct recorder_row *)level;
    for (size_t i = 0; i < sizeof row->by_layer / sizeof *row->by_layer; i++) {
        struct recorder *recorder = row->by_layer[i];
        atomic_store(&row->locations[i], 0);
        if (!recorder)
            continue;
        flights_forget(&recorder->flights);
        recorder->leavings.count = 0;
        recorder_hand_over(recorder, true);
        atomic_store(&recorder->has_location, false);
        recorder->sequence = 0;
        recorder->state = recorder->switches = 0;
        recorder->is_off = false;
    }
}

void recorders_start(void)
{
    thread_level_start(sizeof(struct recorder_row), leave);
}

struct recorder *recorder_make(struct thread_level *level, struct layer *layer)
{
    struct recorder_row *row = (struct recorder_row *)level;
    struct recorder *recorder = row ? qmpi_arena_take(sizeof *recorder) : NULL;
    if (!recorder) {
        atomic_fetch_add(&layer->dropped, 1);
        return NULL;
    }
    atomic_store(&recorder->chunk, &chunk_none);
    recorder->layer = layer;
    recorder->interrupts = level->outer != NULL;
    recorder->next = atomic_load(&layer->recorders);
    while (!atomic_compare_exchange_weak(&layer->recorders, &recorder->next, recorder))
        continue;
    row->by_layer[layer->tool_id] = recorder;
    return recorder;
}

/* All levels of a thread are one location, of which each is a stream. */
void recorder_find_location(struct recorder *recorder)
{
    const struct thread_level *level = thread_level_current;
    uint32_t depth = 0;
    if (atomic_load(&recorder->has_location))
        return;
    for (; level->outer; level = level->outer)
        depth++;
    atomic_uint *place =
        &((struct recorder_row *)(uintptr_t)level)->locations[recorder->layer->tool_id];
    unsigned number = atomic_load(place);
    if (!number) {
        const unsigned mine = atomic_fetch_add(&recorder->layer->locations, 1) + 1;
        if (atomic_compare_exchange_strong(place, &number, mine))
            number = mine;
    }
    atomic_store(&recorder->location, number - 1);
    atomic_store(&recorder->stream, depth);
    atomic_store(&recorder->thread_id, syscall(SYS_gettid));
    atomic_store(&recorder->has_location, true);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

void recorder_hand_over(struct recorder *recorder, bool ends)
{
    struct chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    if (chunk == &chunk_none)
        return;
    /* In this order: the writer must not find it both here and in the queue. */
    atomic_store(&recorder->chunk, &chunk_none);
    chunk->ends = ends;
    chunk->closed = ticks_now();
    chunk_hand_over(&recorder->layer->pool, chunk);
    if (chunk_pool_is_filling(&recorder->layer->pool))
        writer_wake(&recorder->layer->writer);
}

static struct chunk *wait_for_chunk(struct recorder *recorder, uint64_t *from, uint64_t *waited)
{
    struct layer *layer = recorder->layer;
    struct chunk_pool *pool = &layer->pool;
    struct chunk *chunk = NULL;
    *from = ticks_now();
    unsigned last = atomic_load(&pool->returns);
    for (int tries = 0; tries < PATIENCE && !chunk && atomic_load(&pool->handed_over) &&
                        writer_writes(&layer->writer);) {
        const unsigned returns = atomic_load(&pool->returns);
        writer_wake(&layer->writer);
        if (!(chunk = chunk_take(pool)))
            chunk_wait(pool, returns);
        tries = returns == last ? tries + 1 : 0;
        last = returns;
    }
    *waited = ticks_now() - *from;
    return chunk ? chunk : chunk_take(pool);
}

/* Calls that are open when a chunk begins: for a reader of what is after a gap. */
static void note_calls(struct chunk *chunk, struct recorder *recorder)
{
    const struct flight *flight = &recorder->flights.first;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED && chunk->call_count < CHUNK_CALLS;
         flight = flight->inner) {
        if (flight_state(flight->mark) == FLIGHT_NOTED)
            chunk->calls[chunk->call_count++] =
                (struct chunk_call){.ticks = flight->since,
                                    .site = recorder_site(flight->number),
                                    .function = recorder_function(flight->number)};
    }
}

static void *begin_chunk(struct recorder *recorder, struct chunk *chunk)
{
    recorder_find_location(recorder);
    chunk->recorder = recorder;
    chunk->location = atomic_load(&recorder->location);
    chunk->stream = atomic_load(&recorder->stream);
    chunk->thread_id = atomic_load(&recorder->thread_id);
    chunk->begun = ticks_now();
    chunk->dropped = recorder->dropped;
    chunk->dropped_from = recorder->dropped_from;
    chunk->sequence = recorder->sequence++;
    recorder->dropped = 0;
    note_calls(chunk, recorder);
    atomic_store_explicit(&recorder->chunk, chunk, memory_order_release);
    return chunk->data;
}

static void drop(struct recorder *recorder)
{
    if (!recorder->dropped++)
        recorder->dropped_from = ticks_now();
    atomic_fetch_add(&recorder->layer->dropped, 1);
}

void *recorder_next_chunk(struct recorder *recorder, size_t size)
{
    struct layer *layer = recorder->layer;
    uint64_t from = 0, waited = 0;
    (void)size; /* far less than that of a chunk */
    if (!trace_is_owner())
        return NULL;
    recorder_hand_over(recorder, false);
    struct chunk *chunk = chunk_take(&layer->pool);
    if (!chunk && !recorder->interrupts && !atomic_load(&layer->writer.runs))
        layer->start_early(layer);
    if (!chunk && !layer->options.drops && !recorder->interrupts)
        chunk = wait_for_chunk(recorder, &from, &waited);
    if (!chunk) {
        drop(recorder);
        return NULL;
    }
    chunk->waited = waited;
    chunk->waited_from = from;
    return begin_chunk(recorder, chunk);
}

/* ---- Records --------------------------------------------------------------------------------- */

uint64_t recorder_new_request(struct recorder *recorder)
{
    if (recorder->request == recorder->request_end) {
        recorder->request = atomic_fetch_add(&recorder->layer->requests, REQUESTS);
        recorder->request_end = recorder->request + REQUESTS;
    }
    return recorder->request++;
}

void recorder_put_event(struct recorder *recorder, const struct trace_event *event)
{
    struct raw_event *raw = recorder->is_mute ? NULL : recorder_room(recorder, sizeof *raw);
    if (!raw)
        return;
    *raw = (struct raw_event){.head = {.ticks = event->ticks,
                                       .end = event->request,
                                       .site = event->site,
                                       .function = event->function == TRACE_NONE
                                                       ? RAW_NO_FUNCTION
                                                       : (uint16_t)event->function,
                                       .kind = RAW_EVENT,
                                       .event = (uint8_t)event->kind},
                              .bytes = event->bytes,
                              .received = event->received,
                              .comm = event->comm,
                              .object = event->object,
                              .peer = event->peer,
                              .tag = event->tag,
                              .root = event->root};
    if (event->kind == TRACE_COUNTER)
        raw->value = event->value;
    recorder_publish(recorder, sizeof *raw);
}
