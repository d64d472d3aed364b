/* SPDX-License-Identifier: MIT */
/* See table.h: open addressing with linear probing; removing moves later entries back. */
#include "trace/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

uint64_t trace_mix(uint64_t number)
{
    number ^= number >> 30;
    number *= 0xbf58476d1ce4e5b9u;
    number ^= number >> 27;
    number *= 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

uint64_t trace_mix_two(uint64_t one, uint64_t other)
{
    return trace_mix(one + 0x9e3779b97f4a7c15u * (trace_mix(other) | 1));
}

void trace_table_start(struct trace_table *table, size_t value_size)
{
    *table = (struct trace_table){.value_size = value_size};
}

void trace_table_free(struct trace_table *table)
{
    free(table->used);
    free(table->keys);
    free(table->values);
    trace_table_start(table, table->value_size);
}

/* Where a key is, or would be. */
static size_t find(const struct trace_table *table, uint64_t key)
{
    size_t at = trace_mix(key) & (table->room - 1);
    while (table->used[at] && table->keys[at] != key)
        at = (at + 1) & (table->room - 1);
    return at;
}

static void *value_at(const struct trace_table *table, size_t at)
{
    return table->values + at * table->value_size;
}

void *trace_table_get(const struct trace_table *table, uint64_t key)
{
    if (!table->room)
        return NULL;
    const size_t at = find(table, key);
    return table->used[at] ? value_at(table, at) : NULL;
}

static bool grow(struct trace_table *table)
{
    struct trace_table larger = {.value_size = table->value_size,
                                 .room = table->room ? 2 * table->room : FIRST_ROOM};
    larger.used = calloc(larger.room, 1);
    larger.keys = malloc(larger.room * sizeof *larger.keys);
    larger.values = malloc(larger.room * larger.value_size);
    if (!larger.used || !larger.keys || !larger.values) {
        trace_table_free(&larger);
        table->failed = true;
        return false;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (!table->used[i])
            continue;
        const size_t at = find(&larger, table->keys[i]);
        larger.used[at] = 1;
        larger.keys[at] = table->keys[i];
        memcpy(value_at(&larger, at), value_at(table, i), table->value_size);
    }
    larger.count = table->count;
    larger.failed = table->failed;
    trace_table_free(table);
    *table = larger;
    return true;
}

void *trace_table_put(struct trace_table *table, uint64_t key)
{
    void *value = trace_table_get(table, key);
    if (value)
        return value;
    if (2 * (table->count + 1) > table->room && !grow(table))
        return NULL;
    const size_t at = find(table, key);
    table->used[at] = 1;
    table->keys[at] = key;
    table->count++;
    return memset(value_at(table, at), 0, table->value_size);
}

void trace_table_remove(struct trace_table *table, uint64_t key)
{
    if (!table->room)
        return;
    const size_t mask = table->room - 1;
    size_t hole = find(table, key);
    if (!table->used[hole])
        return;
    table->count--;
    table->used[hole] = 0;
    for (size_t at = (hole + 1) & mask; table->used[at]; at = (at + 1) & mask) {
        const size_t first = trace_mix(table->keys[at]) & mask;
        if (((at - first) & mask) < ((at - hole) & mask))
            continue; /* it would be before the place where a search begins */
        table->used[hole] = 1;
        table->used[at] = 0;
        table->keys[hole] = table->keys[at];
        memcpy(value_at(table, hole), value_at(table, at), table->value_size);
        hole = at;
    }
}

void trace_table_each(const struct trace_table *table,
                      void (*each)(void *data, uint64_t key, void *value), void *data)
{
    for (size_t i = 0; i < table->room; i++) {
        if (table->used[i])
            each(data, table->keys[i], value_at(table, i));
    }
}
