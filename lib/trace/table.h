/* SPDX-License-Identifier: MIT */
/*
 * A hash table from 64-bit keys to values of one size. An entry that is removed leaves nothing
 * behind, so that the table is as large as what it holds at most at one time.
 */
#ifndef QMPI_TRACE_TABLE_H
#define QMPI_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_table {
    size_t value_size, count, room; /* room: 0, or a power of two */
    unsigned char *used, *values;
    uint64_t *keys;
    bool failed; /* memory is exhausted: something was not added */
};

void trace_table_start(struct trace_table *table, size_t value_size);
void trace_table_free(struct trace_table *table);

/* Returns the value of a key; NULL: it has none. Valid until the table changes. */
void *trace_table_get(const struct trace_table *table, uint64_t key);

/* The same, but adds a value of zeros if there is none. NULL: memory is exhausted. */
void *trace_table_put(struct trace_table *table, uint64_t key);

void trace_table_remove(struct trace_table *table, uint64_t key);

/* Calls `each` for all entries, in no particular order. */
void trace_table_each(const struct trace_table *table,
                      void (*each)(void *data, uint64_t key, void *value), void *data);

/* Distributes the bits of a number; of two numbers, in this order. */
uint64_t trace_mix(uint64_t number);
uint64_t trace_mix_two(uint64_t one, uint64_t other);

#endif
