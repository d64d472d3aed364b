/* SPDX-License-Identifier: MIT */
/* See table.h. */
#include "util/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- Values by 64-bit keys, for one thread --------------------------------------------------- */

/* The table uses open addressing with linear probing. When an entry is removed, later entries move
 * back to close the gap. */
enum { FIRST_ROOM = 16 };

uint64_t qmpi_table_mix(uint64_t number)
{
    number ^= number >> 30;
    number *= 0xbf58476d1ce4e5b9u;
    number ^= number >> 27;
    number *= 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

uint64_t qmpi_table_mix_two(uint64_t one, uint64_t other)
{
    return qmpi_table_mix(one + 0x9e3779b97f4a7c15u * (qmpi_table_mix(other) | 1));
}

void qmpi_table_start(struct qmpi_table *table, size_t value_size)
{
    *table = (struct qmpi_table){.value_size = value_size};
}

void qmpi_table_free(struct qmpi_table *table)
{
    free(table->used);
    free(table->keys);
    free(table->values);
    qmpi_table_start(table, table->value_size);
}

/* Returns the slot of a key, or the free slot where it belongs. */
static size_t find_slot(const struct qmpi_table *table, uint64_t key)
{
    size_t at = qmpi_table_mix(key) & (table->room - 1);
    while (table->used[at] && table->keys[at] != key)
        at = (at + 1) & (table->room - 1);
    return at;
}

static void *value_at(const struct qmpi_table *table, size_t at)
{
    return table->values + at * table->value_size;
}

void *qmpi_table_get(const struct qmpi_table *table, uint64_t key)
{
    if (!table->room)
        return NULL;
    const size_t at = find_slot(table, key);
    return table->used[at] ? value_at(table, at) : NULL;
}

static bool grow_table(struct qmpi_table *table)
{
    struct qmpi_table larger = {.value_size = table->value_size,
                                .room = table->room ? 2 * table->room : FIRST_ROOM};
    larger.used = calloc(larger.room, 1);
    larger.keys = malloc(larger.room * sizeof *larger.keys);
    larger.values = malloc(larger.room * larger.value_size);
    if (!larger.used || !larger.keys || !larger.values) {
        qmpi_table_free(&larger);
        table->failed = true;
        return false;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (!table->used[i])
            continue;
        const size_t at = find_slot(&larger, table->keys[i]);
        larger.used[at] = 1;
        larger.keys[at] = table->keys[i];
        memcpy(value_at(&larger, at), value_at(table, i), table->value_size);
    }
    larger.count = table->count;
    larger.failed = table->failed;
    qmpi_table_free(table);
    *table = larger;
    return true;
}

void *qmpi_table_put(struct qmpi_table *table, uint64_t key)
{
    void *value = qmpi_table_get(table, key);
    if (value)
        return value;
    if (2 * (table->count + 1) > table->room && !grow_table(table))
        return NULL;
    const size_t at = find_slot(table, key);
    table->used[at] = 1;
    table->keys[at] = key;
    table->count++;
    return memset(value_at(table, at), 0, table->value_size);
}

void qmpi_table_remove(struct qmpi_table *table, uint64_t key)
{
    if (!table->room)
        return;
    const size_t mask = table->room - 1;
    size_t hole = find_slot(table, key);
    if (!table->used[hole])
        return;
    table->count--;
    table->used[hole] = 0;
    for (size_t at = (hole + 1) & mask; table->used[at]; at = (at + 1) & mask) {
        const size_t first = qmpi_table_mix(table->keys[at]) & mask;
        if (((at - first) & mask) < ((at - hole) & mask))
            continue; /* in the hole, a search would not find the entry, because it begins at a
                         later slot */
        table->used[hole] = 1;
        table->used[at] = 0;
        table->keys[hole] = table->keys[at];
        memcpy(value_at(table, hole), value_at(table, at), table->value_size);
        hole = at;
    }
}

void qmpi_table_each(const struct qmpi_table *table,
                     void (*each)(void *data, uint64_t key, void *value), void *data)
{
    for (size_t i = 0; i < table->room; i++) {
        if (table->used[i])
            each(data, table->keys[i], value_at(table, i));
    }
}

/* ---- Entries by handle, for all threads ------------------------------------------------------ */

enum { BUCKET_FULL = 8 }; /* entries */

void *qmpi_table_take_malloc(size_t size)
{
    return calloc(1, size);
}

bool qmpi_table_claim_entry(struct qmpi_table_entry *entry, uint64_t handle)
{
    return __atomic_compare_exchange_n(&entry->handle, &handle, (uint64_t)QMPI_TABLE_CHANGING,
                                       false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Claims an unused entry of a bucket. If there is none, returns NULL and sets `count` to the number
 * of entries in the bucket. */
static struct qmpi_table_entry *claim_unused(struct qmpi_table_entry *entry, int *count)
{
    for (*count = 0; entry; entry = entry->next, ++*count) {
        if (__atomic_load_n(&entry->handle, __ATOMIC_RELAXED) == QMPI_TABLE_UNUSED &&
            qmpi_table_claim_entry(entry, QMPI_TABLE_UNUSED))
            return entry;
    }
    return NULL;
}

static struct qmpi_table_entry *add_table_entry(const struct qmpi_table_of_handles *table,
                                                struct qmpi_table_entry **bucket, int level)
{
    struct qmpi_table_entry *entry = table->take(table->size);
    if (!entry)
        return NULL;
    entry->handle = QMPI_TABLE_CHANGING;
    entry->level = level;
    entry->next = __atomic_load_n(bucket, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bucket, &entry->next, entry, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    return entry;
}

/* Creates a level, unless another thread has done so first; the memory that this thread has
 * allocated is then lost. Returns false if memory is exhausted. */
static bool make_level(struct qmpi_table_of_handles *table, int level)
{
    struct qmpi_table_entry **none = NULL;
    struct qmpi_table_entry **buckets =
        table->take(sizeof *buckets << (table->bits + 2 * (unsigned)level));
    return buckets && (__atomic_compare_exchange_n(&table->levels[level], &none, buckets, false,
                                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
                       none != NULL);
}

bool qmpi_table_begin_handles(struct qmpi_table_of_handles *table)
{
    return __atomic_load_n(&table->levels[0], __ATOMIC_ACQUIRE) || make_level(table, 0);
}

void *qmpi_table_take_entry(struct qmpi_table_of_handles *table, uint64_t handle)
{
    if (!qmpi_table_begin_handles(table))
        return NULL;
    for (int level = 0;; level++) {
        struct qmpi_table_entry **bucket = qmpi_table_find_bucket(table, level, handle);
        int count;
        struct qmpi_table_entry *entry =
            claim_unused(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), &count);
        if (entry)
            return entry;
        const bool is_last = level + 1 == QMPI_TABLE_LEVELS;
        if (count < BUCKET_FULL || is_last ||
            (!qmpi_table_find_bucket(table, level + 1, handle) && !make_level(table, level + 1)))
            return add_table_entry(table, bucket, level);
    }
}
