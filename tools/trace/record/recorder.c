/* SPDX-License-Identifier: MIT */
/* See recorder.h. */
#define _GNU_SOURCE
#include "tools/trace/record/recorder.h"

#include "util/util.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- The pool: free chunks, and chunks for the writer ---------------------------------------- */

struct record_chunk record_chunk_none = {.at = record_chunk_none.data,
                                         .end = record_chunk_none.data};

struct record_pool *record_pool_make(uint64_t memory)
{
    const uint32_t most = (uint32_t)(memory / CHUNK_SIZE);
    struct record_pool *pool =
        calloc(1, sizeof *pool + ((size_t)most + RECORD_POOL_MORE) * sizeof *pool->all);
    if (pool)
        pool->most = most;
    return pool;
}

/* Makes a chunk unless there are `most` chunks or more. */
static struct record_chunk *make_chunk(struct record_pool *pool, unsigned most)
{
    unsigned number = atomic_load(&pool->made);
    do {
        if (number >= most)
            return NULL;
    } while (!atomic_compare_exchange_weak(&pool->made, &number, number + 1));
    struct record_chunk *chunk = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL; /* the number is not used again */
    chunk->number = number;
    atomic_store(&pool->all[number], chunk);
    return chunk;
}

/* The upper half of the word is a counter that is incremented at each change of the list.
 * Therefore, the exchange fails if the list was changed meanwhile, even if it has the same head
 * again. */
static struct record_chunk *take_free(struct record_pool *pool)
{
    uint64_t head = atomic_load(&pool->free_list), next;
    struct record_chunk *chunk;
    do {
        if (!(uint32_t)head)
            return NULL;
        chunk = atomic_load(&pool->all[(uint32_t)head - 1]);
        next = ((head >> 32) + 1) << 32 | atomic_load(&chunk->next_free);
    } while (!atomic_compare_exchange_weak(&pool->free_list, &head, next));
    atomic_fetch_sub(&pool->free_count, 1);
    return chunk;
}

static struct record_chunk *take_chunk(struct record_pool *pool, unsigned most)
{
    struct record_chunk *chunk = take_free(pool);
    if (!chunk && !(chunk = make_chunk(pool, most)))
        return NULL;
    chunk->end = (unsigned char *)chunk + CHUNK_SIZE;
    atomic_store_explicit(&chunk->at, chunk->data, memory_order_relaxed);
    chunk->read = chunk->data;
    chunk->ends_thread = false;
    chunk->dropped = chunk->waited = 0;
    chunk->call_count = 0;
    chunk->next = NULL;
    return chunk;
}

struct record_chunk *record_chunk_take(struct record_pool *pool)
{
    return take_chunk(pool, pool->most);
}

struct record_chunk *record_chunk_take_more(struct record_pool *pool)
{
    return take_chunk(pool, pool->most + RECORD_POOL_MORE);
}

void record_chunk_give_back(struct record_pool *pool, struct record_chunk *chunk)
{
    uint64_t head = atomic_load(&pool->free_list), next;
    do {
        atomic_store(&chunk->next_free, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | (chunk->number + 1);
    } while (!atomic_compare_exchange_weak(&pool->free_list, &head, next));
    atomic_fetch_add(&pool->free_count, 1);
    atomic_fetch_sub(&pool->handed_over, 1);
    atomic_fetch_add(&pool->returns, 1);
    if (atomic_load(&pool->waiting))
        syscall(SYS_futex, &pool->returns, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void record_pool_wait(struct record_pool *pool, unsigned returns)
{
    const struct timespec second = {1, 0};
    atomic_fetch_add(&pool->waiting, 1);
    syscall(SYS_futex, &pool->returns, FUTEX_WAIT_PRIVATE, returns, &second, NULL, 0);
    atomic_fetch_sub(&pool->waiting, 1);
}

void record_chunk_hand_over(struct record_pool *pool, struct record_chunk *chunk)
{
    atomic_fetch_add(&pool->handed_over, 1);
    chunk->next = atomic_load(&pool->queue);
    while (!atomic_compare_exchange_weak(&pool->queue, &chunk->next, chunk))
        continue;
}

bool record_pool_is_filling(const struct record_pool *pool)
{
    enum { MANY = 32 }; /* 2 MiB, which fit into the caches of most processors */
    const unsigned most = pool->most / 8 < MANY ? pool->most / 8 : MANY;
    return atomic_load(&pool->handed_over) >= most;
}

uint32_t record_pool_room(const struct record_pool *pool)
{
    const unsigned made = atomic_load(&pool->made);
    return atomic_load(&pool->free_count) + (made < pool->most ? pool->most - made : 0);
}

struct record_chunk *record_pool_take_queue(struct record_pool *pool)
{
    struct record_chunk *last = atomic_exchange(&pool->queue, NULL), *first = NULL;
    while (last) {
        struct record_chunk *next = last->next;
        last->next = first;
        first = last;
        last = next;
    }
    return first;
}

/* A thread waits PATIENCE seconds for a writer that makes no progress. A recorder takes
 * REQUESTS_AT_ONCE numbers of requests at a time. */
enum { PATIENCE = 10, REQUESTS_AT_ONCE = 1 << 16 };

/* ---- Threads --------------------------------------------------------------------------------- */

struct recorder *recorder_make(struct thread_level *level, struct layer *layer)
{
    struct recorder_row *row = (struct recorder_row *)level;
    struct recorder *recorder = row ? qmpi_memory_take(sizeof *recorder) : NULL;
    if (!recorder) {
        atomic_fetch_add(&layer->dropped, 1);
        return NULL;
    }
    atomic_store(&recorder->chunk, &record_chunk_none);
    recorder->layer = layer;
    recorder->interrupts = level->outer != NULL;
    recorder->next = atomic_load(&layer->recorders);
    while (!atomic_compare_exchange_weak(&layer->recorders, &recorder->next, recorder))
        continue;
    row->by_layer[layer->tool_id] = recorder;
    return recorder;
}

/* All levels of a thread belong to one location. Each level is a stream of this location. */
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

void recorder_hand_over(struct recorder *recorder, bool ends_thread)
{
    struct record_chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    if (chunk == &record_chunk_none)
        return;
    /* This order keeps the writer from finding the chunk both here and in the queue. */
    atomic_store(&recorder->chunk, &record_chunk_none);
    chunk->ends_thread = ends_thread;
    chunk->closed = ticks_now();
    record_chunk_hand_over(recorder->layer->pool, chunk);
    if (record_pool_is_filling(recorder->layer->pool))
        layer_wake_writer(recorder->layer);
}

/* Waits until the writer has given back a chunk. If it has none, all chunks are being filled by
 * other threads, which may not call MPI for a long time. The thread then gets a chunk beyond the
 * limit. There are never more chunks than the limit, or than recorders. */
static struct record_chunk *wait_for_chunk(struct recorder *recorder, uint64_t *from,
                                           uint64_t *waited)
{
    struct layer *layer = recorder->layer;
    struct record_pool *pool = layer->pool;
    struct record_chunk *chunk = NULL;
    *from = ticks_now();
    unsigned last = atomic_load(&pool->returns);
    for (int tries = 0;
         tries < PATIENCE && !chunk && atomic_load(&pool->handed_over) && layer_writes(layer);) {
        const unsigned returns = atomic_load(&pool->returns);
        layer_wake_writer(layer);
        if (!(chunk = record_chunk_take(pool)))
            record_pool_wait(pool, returns);
        tries = returns == last ? tries + 1 : 0;
        last = returns;
    }
    *waited = ticks_now() - *from;
    if (!chunk && !atomic_load(&pool->handed_over) && layer_writes(layer))
        chunk = record_chunk_take_more(pool);
    return chunk ? chunk : record_chunk_take(pool);
}

/* Stores the calls that are open when a chunk begins. If earlier chunks are lost, the writer opens
 * these calls again. */
static void add_open_calls(struct record_chunk *chunk, struct recorder *recorder)
{
    const struct flight *flight = &recorder->flights.first;
    for (; flight && flight_state(flight->mark) != FLIGHT_ENDED && chunk->call_count < CHUNK_CALLS;
         flight = flight->inner) {
        if (flight_state(flight->mark) == FLIGHT_NOTED)
            chunk->calls[chunk->call_count++] =
                (struct record_chunk_call){.ticks = flight->since,
                                           .site = recorder_site(flight->number),
                                           .function = recorder_function(flight->number)};
    }
}

static void *begin_chunk(struct recorder *recorder, struct record_chunk *chunk)
{
    recorder_find_location(recorder);
    chunk->location = atomic_load(&recorder->location);
    chunk->stream = atomic_load(&recorder->stream);
    chunk->thread_id = atomic_load(&recorder->thread_id);
    chunk->begun = ticks_now();
    chunk->dropped = recorder->dropped;
    chunk->dropped_from = recorder->dropped_from;
    chunk->sequence = recorder->sequence++;
    recorder->dropped = 0;
    add_open_calls(chunk, recorder);
    atomic_store_explicit(&recorder->chunk, chunk, memory_order_release);
    return chunk->data;
}

static void drop_record(struct recorder *recorder)
{
    recorder_find_location(recorder); /* whose records are lost */
    if (!recorder->dropped++)
        recorder->dropped_from = ticks_now();
    atomic_fetch_add(&recorder->layer->dropped, 1);
}

void *recorder_next_chunk(struct recorder *recorder)
{
    struct layer *layer = recorder->layer;
    uint64_t from = 0, waited = 0;
    if (!layer_is_in_owner())
        return NULL;
    recorder_hand_over(recorder, false);
    struct record_chunk *chunk = record_chunk_take(layer->pool);
    if (!chunk && !recorder->interrupts && !atomic_load(&layer->writer.runs))
        layer->start_early(layer);
    if (!chunk && !layer->options.drops && !recorder->interrupts)
        chunk = wait_for_chunk(recorder, &from, &waited);
    if (!chunk) {
        drop_record(recorder);
        return NULL;
    }
    chunk->waited = waited;
    chunk->waited_from = from;
    return begin_chunk(recorder, chunk);
}

/* ---- The end of a thread ------------------------------------------------------------------------
 */

/* Tells the writer how many records a thread has lost since its last chunk, so that they do not
 * count as lost by the next thread of the level. */
static void report_last_drops(struct recorder *recorder)
{
    uint64_t from, waited;
    if (!recorder->dropped || !atomic_load(&recorder->has_location) || !layer_is_in_owner())
        return;
    recorder_hand_over(recorder, false);
    struct record_chunk *chunk = record_chunk_take(recorder->layer->pool);
    if (!chunk)
        chunk = wait_for_chunk(recorder, &from, &waited);
    if (chunk)
        begin_chunk(recorder, chunk);
}

/* Called for each level of a thread that ends. The next thread that uses the level gets another
 * location. */
static void end_recorder_thread(struct thread_level *level)
{
    struct recorder_row *row = (struct recorder_row *)level;
    for (size_t i = 0; i < sizeof row->by_layer / sizeof *row->by_layer; i++) {
        struct recorder *recorder = row->by_layer[i];
        atomic_store(&row->locations[i], 0);
        if (!recorder)
            continue;
        flights_forget(&recorder->flights);
        recorder->leavings.count = 0;
        report_last_drops(recorder);
        recorder_hand_over(recorder, true);
        atomic_store(&recorder->has_location, false);
        recorder->sequence = 0;
        recorder->state = recorder->switches = 0;
        recorder->is_off = false;
    }
}

void recorder_start(void)
{
    thread_level_start(sizeof(struct recorder_row), end_recorder_thread);
}

/* ---- Records --------------------------------------------------------------------------------- */

uint64_t recorder_new_request(struct recorder *recorder)
{
    if (recorder->request == recorder->request_end) {
        recorder->request = atomic_fetch_add(&recorder->layer->requests, REQUESTS_AT_ONCE);
        recorder->request_end = recorder->request + REQUESTS_AT_ONCE;
    }
    return recorder->request++;
}

void recorder_put_event(struct recorder *recorder, const struct trace_event *event)
{
    struct record_event *record =
        recorder->is_mute ? NULL : recorder_room(recorder, sizeof *record);
    if (!record)
        return;
    *record = (struct record_event){.head = {.ticks = event->ticks,
                                             .end = event->request,
                                             .site = event->site,
                                             .function = event->function == TRACE_NONE
                                                             ? RECORD_NO_FUNCTION
                                                             : (uint16_t)event->function,
                                             .kind = RECORD_EVENT,
                                             .event = (uint8_t)event->kind},
                                    .bytes = event->bytes,
                                    .received = event->received,
                                    .comm = event->comm,
                                    .object = event->object,
                                    .peer = event->peer,
                                    .tag = event->tag,
                                    .root = event->root};
    if (event->kind == TRACE_COUNTER)
        record->value = event->value;
    recorder_publish(recorder, sizeof *record);
}

void recorder_put_object(struct recorder *recorder, enum trace_event_kind kind, uint32_t index,
                         uint64_t ticks)
{
    struct trace_event event;
    if (index == TRACE_NONE)
        return;
    trace_event_clear(&event, kind, ticks);
    if (kind == TRACE_COMM_CREATE || kind == TRACE_COMM_DESTROY)
        event.comm = index;
    else
        event.object = index;
    recorder_put_event(recorder, &event);
}

int recorder_peer(int peer)
{
    if (peer >= 0)
        return peer;
    return peer == MPI_PROC_NULL    ? TRACE_PROC_NULL
           : peer == MPI_ANY_SOURCE ? TRACE_ANY
                                    : TRACE_UNDEFINED;
}

int recorder_tag(int tag)
{
    if (tag >= 0)
        return tag;
    return tag == MPI_ANY_TAG ? TRACE_ANY : TRACE_UNDEFINED;
}

int recorder_root(int root)
{
    if (root >= 0)
        return root;
    return root == MPI_ROOT        ? TRACE_ROOT_SELF
           : root == MPI_PROC_NULL ? TRACE_PROC_NULL
                                   : TRACE_UNDEFINED;
}
