/* SPDX-License-Identifier: MIT */
/* Assigns numbers to keys, which are sequences of bytes. A key that is added for the first time
 * gets the next number, from 0 on. An empty map is {0}. If memory is exhausted, `failed` is set,
 * and the result is TRACE_NO_NUMBER. */
#ifndef QMPI_TRACE_FILE_MAP_H
#define QMPI_TRACE_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO_NUMBER UINT32_MAX

struct trace_map_key {
    void *data; /* followed by a zero byte, so that it can be read as text */
    size_t size;
};
struct trace_map {
    struct trace_map_key *keys; /* indexed by number */
    size_t count, room;
    uint32_t *places; /* indexed by hash: number + 1, or 0 if the place is free */
    size_t place_count;
    bool failed;
};

/* Returns the number of a key. Sets *is_new (which may be NULL) to whether the key was added. */
uint32_t trace_map_add(struct trace_map *map, const void *data, size_t size, bool *is_new);

/* Returns the number of a key, or TRACE_NO_NUMBER if it was not added. */
uint32_t trace_map_find(const struct trace_map *map, const void *data, size_t size);

void trace_map_clear(struct trace_map *map);

#endif
