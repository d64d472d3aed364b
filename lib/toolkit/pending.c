/* SPDX-License-Identifier: MIT */
/* See pending.h. */
#include "toolkit/pending.h"

#include "util/util.h"

#include <stdlib.h>

enum { BUCKET_BITS = 12 };

/* The handle of an entry while it is nobody's, and while it changes hands. No request has it. */
enum { FREE = 0, CHANGING = 1 };

bool pending_make(struct pending_table *table, size_t size)
{
    *table = (struct pending_table){calloc((size_t)1 << BUCKET_BITS, sizeof *table->buckets), size};
    return table->buckets != NULL;
}

static struct pending **bucket_of(const struct pending_table *table, uint64_t handle)
{
    return &table->buckets[handle * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BUCKET_BITS)];
}

struct pending *pending_find(const struct pending_table *table, uint64_t handle,
                             const struct pending *previous)
{
    struct pending *pending =
        previous ? previous->next : __atomic_load_n(bucket_of(table, handle), __ATOMIC_ACQUIRE);
    while (pending && (__atomic_load_n(&pending->handle, __ATOMIC_ACQUIRE) != handle ||
                       pending_is_held(pending)))
        pending = pending->next;
    return pending;
}

bool pending_claim(struct pending *pending, uint64_t handle)
{
    return __atomic_compare_exchange_n(&pending->handle, &handle, CHANGING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

struct pending *pending_take(const struct pending_table *table, uint64_t handle)
{
    struct pending **bucket = bucket_of(table, handle);
    struct pending *pending = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    while (pending && !(__atomic_load_n(&pending->handle, __ATOMIC_RELAXED) == FREE &&
                        pending_claim(pending, FREE)))
        pending = pending->next;
    if (pending || !(pending = qmpi_arena_take(table->size)))
        return pending;
    pending->handle = CHANGING;
    pending->next = __atomic_load_n(bucket, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bucket, &pending->next, pending, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    return pending;
}

void pending_publish(struct pending *pending, uint64_t handle)
{
    __atomic_store_n(&pending->held, false, __ATOMIC_RELAXED);
    __atomic_store_n(&pending->handle, handle, __ATOMIC_RELEASE);
}

void pending_drop(struct pending *pending)
{
    __atomic_store_n(&pending->handle, (uint64_t)FREE, __ATOMIC_RELEASE);
}
