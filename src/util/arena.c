/* SPDX-License-Identifier: MIT */
/* See arena.h: an arena of mapped pages. mmap is a system call without a state of its own. */
#define _GNU_SOURCE
#include "util/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { LINE = 64, CHUNK = 256 * 1024, LARGE = CHUNK / 4 };

struct chunk {
    _Alignas(LINE) atomic_size_t used;
};

static _Atomic(struct chunk *) current;

static void *map(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* What is left of a chunk when the next one begins is lost: no page of it was touched. */
static bool begin_chunk(struct chunk *full)
{
    struct chunk *chunk = map(CHUNK);
    if (!chunk)
        return false;
    atomic_store_explicit(&chunk->used, sizeof *chunk, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&current, &full, chunk))
        munmap(chunk, CHUNK); /* somebody was faster */
    return true;
}

void *qmpi_arena_take(size_t size)
{
    struct chunk *chunk;
    if (size > (size_t)-1 - LINE)
        return NULL;
    size = (size + LINE - 1) & ~(size_t)(LINE - 1);
    if (size > LARGE)
        return map(size);
    do {
        chunk = atomic_load(&current);
        const size_t at = chunk ? atomic_fetch_add(&chunk->used, size) : CHUNK;
        if (at + size <= CHUNK)
            return (char *)chunk + at;
    } while (begin_chunk(chunk));
    return NULL;
}
