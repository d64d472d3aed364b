/* SPDX-License-Identifier: MIT */
/* See table.h. */
#include "toolkit/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 5, LARGEST_BLOCK = 1024 };

/* A block holds several rows. Each block has room for twice as many as the one before, up to
 * LARGEST_BLOCK. */
struct table_block {
    /* The owner stores the next block and the number of rows with release, after the block or the
     * row is complete; other threads load both with acquire before they read rows. */
    struct table_block *next;
    size_t capacity, count;
    _Alignas(uint64_t) char entries[];
};

static void *take_memory(const struct table *table, size_t size)
{
    return table->take ? table->take(size) : calloc(1, size);
}

static void give_back(const struct table *table, void *memory)
{
    if (!table->take)
        free(memory);
}

bool table_make_in(struct table *table, size_t key_words, size_t row_size,
                   void *(*take_from)(size_t size))
{
    *table = (struct table){
        .key_words = key_words, .row_size = row_size, .shift = 64 - FIRST_BITS, .take = take_from};
    table->index = take_memory(table, sizeof *table->index << FIRST_BITS);
    return table->index != NULL;
}

bool table_make(struct table *table, size_t key_words, size_t row_size)
{
    return table_make_in(table, key_words, row_size, NULL);
}

void table_free(struct table *table)
{
    while (table->first) {
        struct table_block *next = table->first->next;
        free(table->first);
        table->first = next;
    }
    free(table->index);
    *table = (struct table){0};
}

static void put_row(uint64_t **index, int shift, uint64_t *row, size_t words)
{
    size_t place = (size_t)(table_hash(row, words) >> shift);
    while (index[place])
        place = (place + 1) & (SIZE_MAX >> shift);
    index[place] = row;
}

/* Doubles the index, so that it stays at most half full. The index may move, because only the owner
 * uses it. */
static bool double_index(struct table *table)
{
    const int shift = table->shift - 1;
    uint64_t **index = take_memory(table, sizeof *index << (64 - shift));
    if (!index)
        return false;
    struct table_place place = {0};
    for (uint64_t *row; (row = table_next(table, &place));)
        put_row(index, shift, row, table->key_words);
    give_back(table, table->index);
    table->index = index;
    table->shift = shift;
    return true;
}

static struct table_block *find_block_with_room(struct table *table)
{
    struct table_block *last = table->last;
    if (last && last->count < last->capacity)
        return last;
    size_t capacity = last ? 2 * last->capacity : 4;
    if (capacity > LARGEST_BLOCK)
        capacity = LARGEST_BLOCK;
    struct table_block *block = take_memory(table, sizeof *block + capacity * table->row_size);
    if (!block)
        return NULL;
    block->capacity = capacity;
    __atomic_store_n(last ? &last->next : &table->first, block, __ATOMIC_RELEASE);
    table->last = block;
    return block;
}

void *table_add(struct table *table, const uint64_t *key)
{
    if (2 * (table->count + 1) > SIZE_MAX >> table->shift && !double_index(table))
        return NULL;
    struct table_block *block = find_block_with_room(table);
    if (!block)
        return NULL;
    uint64_t *row = (uint64_t *)(void *)(block->entries + block->count * table->row_size);
    memcpy(row, key, table->key_words * sizeof *key);
    put_row(table->index, table->shift, row, table->key_words);
    table->count++;
    __atomic_store_n(&block->count, block->count + 1, __ATOMIC_RELEASE);
    return row;
}

void *table_next(const struct table *table, struct table_place *place)
{
    if (!place->block)
        place->block = __atomic_load_n(&table->first, __ATOMIC_ACQUIRE);
    while (place->block && place->at == __atomic_load_n(&place->block->count, __ATOMIC_ACQUIRE)) {
        struct table_block *next = __atomic_load_n(&place->block->next, __ATOMIC_ACQUIRE);
        if (!next)
            return NULL;
        *place = (struct table_place){next, 0};
    }
    return place->block ? place->block->entries + place->at++ * table->row_size : NULL;
}

void *table_seek(const struct table *table, uint64_t key)
{
    struct table_place place = {0};
    uint64_t *row = table_next(table, &place);
    while (row && *row != key)
        row = table_next(table, &place);
    return row;
}

uint64_t table_hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}
