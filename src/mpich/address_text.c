/* SPDX-License-Identifier: MIT */
/*
 * MPICH's variant gives an address as text. A tool requests it in every call, and it is unknown
 * when the tool no longer needs it. Therefore, there is one text per address, which is created once
 * and kept. A signal handler may interrupt this code and call it again by an MPI call: there is no
 * lock, and no memory of malloc, which the program's code may hold or be changing then.
 */
#define _GNU_SOURCE
#include "mpich/mpich.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

struct entry {
    struct qmpi_mpich_address public; /* first: who has it has the entry */
    struct entry *next;               /* of the same bucket, made before */
};

enum { BUCKETS = 4096, CHUNK_SIZE = 1 << 16 };
static _Atomic(struct entry *) buckets[BUCKETS];

/* Entries are taken one after the other from a chunk, and then from the next one. */
struct chunk {
    atomic_size_t used;
    struct entry entries[];
};
enum { CHUNK_ENTRIES = (CHUNK_SIZE - sizeof(struct chunk)) / sizeof(struct entry) };
static _Atomic(struct chunk *) current;

static void add_chunk(struct chunk *full)
{
    struct chunk *chunk =
        mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return;
    if (!atomic_compare_exchange_strong(&current, &full, chunk))
        munmap(chunk, CHUNK_SIZE); /* somebody else was first */
}

/* NULL: out of memory. */
static struct entry *new_entry(void)
{
    for (;;) {
        struct chunk *chunk = atomic_load(&current);
        const size_t place = chunk ? atomic_fetch_add(&chunk->used, 1) : (size_t)CHUNK_ENTRIES;
        if (place < CHUNK_ENTRIES)
            return &chunk->entries[place];
        add_chunk(chunk);
        if (atomic_load(&current) == chunk)
            return NULL;
    }
}

static void write_text(char *text, const void *address)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 8 * (int)sizeof address - 4;
    *text++ = '0';
    *text++ = 'x';
    while (shift > 0 && !((uintptr_t)address >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *text++ = digits[(uintptr_t)address >> shift & 15];
    *text = '\0';
}

static const struct qmpi_mpich_address *find(const struct entry *entry, const void *address)
{
    while (entry && entry->public.address != address)
        entry = entry->next;
    return entry ? &entry->public : NULL;
}

const struct qmpi_mpich_address *qmpi_mpich_address(const void *address)
{
    const uint64_t hash = (uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    _Atomic(struct entry *) *bucket = &buckets[(hash >> 32) % BUCKETS];
    struct entry *head = atomic_load_explicit(bucket, memory_order_acquire), *made = NULL;
    for (;;) {
        const struct qmpi_mpich_address *found = find(head, address);
        if (found || (!made && !(made = new_entry())))
            return found;
        made->public.address = address;
        write_text(made->public.text, address);
        made->next = head;
        if (atomic_compare_exchange_weak(bucket, &head, made))
            return &made->public;
    }
}
