/* SPDX-License-Identifier: MIT */
/*
 * MPICH's dialect gives an address as text. A tool asks in every call, and nobody can know when it
 * has done with the answer: so there is one text for each address, made the first time and kept.
 * Who asks again finds it without a lock, in a table that is replaced by a greater one before it
 * fills.
 */
#include "dialect.h"
#include "message.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

struct text {
    const void *address;
    char digits[2 + 2 * sizeof(void *) + 1];
};

struct table {
    size_t size; /* a power of two */
    size_t used;
    _Atomic(struct text *) texts[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct table *) current;

static size_t place_of(const struct table *table, const void *address)
{
    return ((uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (table->size - 1);
}

static struct text *find(struct table *table, const void *address)
{
    if (!table)
        return NULL;
    size_t place = place_of(table, address);
    struct text *text;
    while ((text = atomic_load_explicit(&table->texts[place], memory_order_acquire)) &&
           text->address != address)
        place = (place + 1) & (table->size - 1);
    return text;
}

static void put(struct table *table, struct text *text)
{
    size_t place = place_of(table, text->address);
    while (atomic_load_explicit(&table->texts[place], memory_order_relaxed))
        place = (place + 1) & (table->size - 1);
    atomic_store_explicit(&table->texts[place], text, memory_order_release);
    table->used++;
}

/* Others may be reading the old one: it stays. All old ones together are smaller than the new. */
static struct table *grow(struct table *old)
{
    const size_t size = old ? 2 * old->size : 256;
    struct table *table = qmpi_allocate(1, sizeof *table + size * sizeof table->texts[0]);
    table->size = size;
    for (size_t i = 0; old && i < old->size; i++) {
        struct text *text = atomic_load_explicit(&old->texts[i], memory_order_relaxed);
        if (text)
            put(table, text);
    }
    atomic_store_explicit(&current, table, memory_order_release);
    return table;
}

static struct text *make(const void *address)
{
    pthread_mutex_lock(&lock);
    struct table *table = atomic_load_explicit(&current, memory_order_relaxed);
    struct text *text = find(table, address);
    if (!text) {
        if (!table || 2 * table->used >= table->size)
            table = grow(table);
        text = qmpi_allocate(1, sizeof *text);
        text->address = address;
        snprintf(text->digits, sizeof text->digits, "0x%jx", (uintmax_t)(uintptr_t)address);
        put(table, text);
    }
    pthread_mutex_unlock(&lock);
    return text;
}

const char *qmpi_dialect_address(const void *address)
{
    struct text *text = find(atomic_load_explicit(&current, memory_order_acquire), address);
    return (text ? text : make(address))->digits;
}
