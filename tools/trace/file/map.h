/* SPDX-License-Identifier: MIT */
/* Assigns numbers to keys. Each key, a sequence of bytes, gets the next number from 0 on when it is
 * first added. If memory is exhausted, `failed` is set, and numbers are TRACE_NO_NUMBER. */
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
    struct trace_map_key *keys; /* [number] */
    size_t count, room;
    uint32_t *places; /* [hash]: number + 1; 0: free */
    size_t place_count;
    bool failed;
};

/* Returns the number of a key. Sets *is_new (which may be NULL) to whether the key was added. */
uint32_t trace_map_add(struct trace_map *map, const void *data, size_t size, bool *is_new);

/* Returns the number of a key; TRACE_NO_NUMBER: it was not added. */
uint32_t trace_map_find(const struct trace_map *map, const void *data, size_t size);

void trace_map_clear(struct trace_map *map);

#endif
