/* SPDX-License-Identifier: MIT */
/*
 * A table is a hash table that one thread, the owner, fills while others may read it. No thread
 * takes a lock, because a row never moves, is never removed, and has its complete key before a
 * reader can find it. Only the owner may use the hash index. Other threads walk through all rows
 * with table_next or table_seek.
 */
#ifndef QMPI_TOOLKIT_TABLE_H
#define QMPI_TOOLKIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_block;

/* A row has `row_size` bytes. It begins with its key, which is `key_words` words of 64 bits, and
 * the other bytes are zero at first. */
struct table {
    size_t key_words, row_size;
    uint64_t **index; /* The index uses open addressing, and a free place is NULL. */
    int shift;        /* The upper 64 - shift bits of a hash are a place in the index. */
    size_t count;     /* This is the number of rows. */
    struct table_block *first, *last;
    void *(*take)(size_t size); /* See table_make_in; NULL stands for calloc. */
};

/* Makes an empty table. `key_words` must be at least 1. Returns false if memory is exhausted. */
bool table_make(struct table *table, size_t key_words, size_t row_size);

/* Makes an empty table that gets its memory from `take`. `take` must return memory that is zero, or
 * NULL if there is none. This memory is never freed. Returns false if memory is exhausted. */
bool table_make_in(struct table *table, size_t key_words, size_t row_size,
                   void *(*take)(size_t size));

/* Frees the rows and the index of a table that table_make has made. No thread may use them any
 * more. */
void table_free(struct table *table);

/* Adds a row for a key that table_find has not found, and returns it. Returns NULL if memory is
 * exhausted. Only the owner may call this. */
void *table_add(struct table *table, const uint64_t *key);

/* This is a position in the order in which the rows were added. The first is zero. */
struct table_place {
    struct table_block *block;
    size_t at;
};

/* Returns the row at `place`, which belongs to the caller, and moves `place` to the next row.
 * Returns NULL if there are no more rows. Any thread may call this. */
void *table_next(const struct table *table, struct table_place *place);

/* Returns the row whose key begins with this word, or NULL if there is none. Any thread may call
 * this, because it walks through all rows instead of using the index. */
void *table_seek(const struct table *table, uint64_t key);

/* Returns the FNV-1a hash of a text, which can be a word of a key. */
uint64_t table_hash_text(const char *text);

static inline uint64_t table_hash(const uint64_t *key, size_t words)
{
    uint64_t hash = key[0] * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 1; i < words; i++)
        hash = ((hash ^ hash >> 29) + key[i]) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash;
}

/* Returns the row with this key, or NULL if there is none. `words` must be equal to the key_words
 * of the table. It is a parameter so that the compiler knows it as a constant. Only the owner may
 * call this. */
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

/* Returns the row with this key, and adds it if there is none. Returns NULL if memory is exhausted.
 * Only the owner may call this. */
static inline void *table_get(struct table *table, const uint64_t *key, size_t words)
{
    void *const row = table_find(table, key, words);
    return __builtin_expect(row != NULL, 1) ? row : table_add(table, key);
}

#endif
