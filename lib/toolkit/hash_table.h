/* SPDX-License-Identifier: MIT */
/*
 * Hash tables in which one thread notes what it sees while others may read. A row never moves
 * and is never removed; its key is whole before readers can find it. Only the thread that owns the
 * table searches it; readers walk all rows. So neither side takes a lock.
 */
#ifndef QMPI_TOOLKIT_HASH_TABLE_H
#define QMPI_TOOLKIT_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_block;

/* A row begins with its key, `key_words` words of 64 bits; the rest is zero at first. */
struct table {
    size_t key_words, row_size;
    uint64_t **index; /* open addressing; NULL: free */
    int shift;        /* the upper 64 - shift bits of a hash are a place in the index */
    size_t count;
    struct table_block *first, *last;
    void *(*take)(size_t size); /* see table_make_in; NULL: malloc */
};

/* Makes an empty table. False: memory is out. */
bool table_make(struct table *table, size_t key_words, size_t row_size);

/* The same with memory from `take`, which gives zeroes, and which nothing is given back to. */
bool table_make_in(struct table *table, size_t key_words, size_t row_size,
                   void *(*take)(size_t size));

/* Frees it and what it holds. For those of table_make. */
void table_free(struct table *table);

/* Adds a row that table_find did not find; NULL: memory is out. */
void *table_add(struct table *table, const uint64_t *key);

/* The row behind `place`, which goes on to it, in the order in which they were added; NULL: no
 * more. Any thread. `place` is the caller's, zero at first. */
struct table_place {
    struct table_block *block;
    size_t at;
};
void *table_next(const struct table *table, struct table_place *place);

/* The row with this key of one word; NULL: none. Any thread: it walks all rows. */
void *table_seek(const struct table *table, uint64_t key);

/* A word for a text, for keys (FNV-1a). */
uint64_t table_hash_text(const char *text);

static inline uint64_t table_hash(const uint64_t *key, size_t words)
{
    uint64_t hash = key[0] * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 1; i < words; i++)
        hash = ((hash ^ hash >> 29) + key[i]) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash;
}

/* The row with this key; NULL: none. `words` is the table's key_words: given apart, so that the
 * compiler knows it. */
static inline void *table_find(const struct table *table, const uint64_t *key, size_t words)
{
    size_t place = (size_t)(table_hash(key, words) >> table->shift);
    const size_t mask = SIZE_MAX >> table->shift;
    for (;; place = (place + 1) & mask) {
        uint64_t *const row = table->index[place];
        if (!row)
            return NULL;
        size_t equal = 0;
        while (equal < words && row[equal] == key[equal])
            equal++;
        if (equal == words)
            return row;
    }
}

/* The row with this key, made if there is none; NULL: memory is out. */
static inline void *table_get(struct table *table, const uint64_t *key, size_t words)
{
    void *const row = table_find(table, key, words);
    return __builtin_expect(row != NULL, 1) ? row : table_add(table, key);
}

#endif
