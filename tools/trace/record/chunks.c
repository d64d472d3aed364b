/* SPDX-License-Identifier: MIT */
/* See chunks.h. */
#define _GNU_SOURCE
#include "record/chunks.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct chunk chunk_none = {.at = chunk_none.data, .end = chunk_none.data};

bool chunk_pool_make(struct chunk_pool *pool, uint64_t memory)
{
    *pool = (struct chunk_pool){.most = (uint32_t)(memory / CHUNK_SIZE)};
    pool->all = calloc(pool->most, sizeof *pool->all);
    return pool->all != NULL;
}

static struct chunk *make_chunk(struct chunk_pool *pool)
{
    const unsigned number = atomic_fetch_add(&pool->made, 1);
    if (number >= pool->most) {
        atomic_fetch_sub(&pool->made, 1);
        return NULL;
    }
    struct chunk *chunk = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL; /* the number is not given again */
    chunk->number = number;
    atomic_store(&pool->all[number], chunk);
    return chunk;
}

/* The counter in the upper half changes each time, so that a list that has become another one
 * meanwhile is not mistaken for the same. */
static struct chunk *take_free(struct chunk_pool *pool)
{
    uint64_t head = atomic_load(&pool->free_list), next;
    struct chunk *chunk;
    do {
        if (!(uint32_t)head)
            return NULL;
        chunk = atomic_load(&pool->all[(uint32_t)head - 1]);
        next = ((head >> 32) + 1) << 32 | atomic_load(&chunk->next_free);
    } while (!atomic_compare_exchange_weak(&pool->free_list, &head, next));
    atomic_fetch_sub(&pool->free_count, 1);
    return chunk;
}

struct chunk *chunk_take(struct chunk_pool *pool)
{
    struct chunk *chunk = take_free(pool);
    if (!chunk && !(chunk = make_chunk(pool)))
        return NULL;
    chunk->end = (unsigned char *)chunk + CHUNK_SIZE;
    atomic_store_explicit(&chunk->at, chunk->data, memory_order_relaxed);
    chunk->read = chunk->data;
    chunk->ends = false;
    chunk->dropped = chunk->waited = 0;
    chunk->call_count = 0;
    chunk->next = NULL;
    return chunk;
}

void chunk_give_back(struct chunk_pool *pool, struct chunk *chunk)
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

void chunk_wait(struct chunk_pool *pool, unsigned returns)
{
    const struct timespec second = {1, 0};
    atomic_fetch_add(&pool->waiting, 1);
    syscall(SYS_futex, &pool->returns, FUTEX_WAIT_PRIVATE, returns, &second, NULL, 0);
    atomic_fetch_sub(&pool->waiting, 1);
}

void chunk_hand_over(struct chunk_pool *pool, struct chunk *chunk)
{
    atomic_fetch_add(&pool->handed_over, 1);
    chunk->next = atomic_load(&pool->queue);
    while (!atomic_compare_exchange_weak(&pool->queue, &chunk->next, chunk))
        continue;
}

bool chunk_pool_is_filling(const struct chunk_pool *pool)
{
    enum { MANY = 32 }; /* still in the processor's cache */
    const unsigned most = pool->most / 8 < MANY ? pool->most / 8 : MANY;
    return atomic_load(&pool->handed_over) >= most;
}

uint32_t chunk_pool_room(const struct chunk_pool *pool)
{
    const unsigned made = atomic_load(&pool->made);
    return atomic_load(&pool->free_count) + (made < pool->most ? pool->most - made : 0);
}

struct chunk *chunk_queue_take(struct chunk_pool *pool)
{
    struct chunk *last = atomic_exchange(&pool->queue, NULL), *first = NULL;
    while (last) {
        struct chunk *next = last->next;
        last->next = first;
        first = last;
        last = next;
    }
    return first;
}
