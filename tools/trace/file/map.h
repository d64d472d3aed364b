/* SPDX-License-Identifier: MIT */
/* Numbers for keys: each key, of any bytes, gets the next number from 0 on when it is first seen.
 * Memory that is exhausted sets `failed`, and numbers are then TRACE_NO_NUMBER. */
#ifndef QMPI_TRACE_FILE_MAP_H
#define QMPI_TRACE_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO_NUMBER UINT32_MAX

struct trace_map_key {
    void *data; /* followed by a zero byte: text can be read as such */
    size_t size;
};
struct trace_map {
    struct trace_map_key *keys; /* by number */
    size_t count, room;
    uint32_t *places; /* by hash: a number + 1; 0: free */
    size_t place_count;
    bool failed;
};

/* The number of a key. *is_new (may be NULL) is set to whether it is the first time. */
uint32_t trace_map_add(struct trace_map *map, const void *data, size_t size, bool *is_new);

/* The number of a key; TRACE_NO_NUMBER: it has none. */
uint32_t trace_map_find(const struct trace_map *map, const void *data, size_t size);

void trace_map_clear(struct trace_map *map);

#endif
