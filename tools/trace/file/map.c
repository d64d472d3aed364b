/* SPDX-License-Identifier: MIT */
/* See map.h: a hash table with open addressing. */
#include "tools/trace/file/map.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint64_t hash_bytes(const void *data, size_t size)
{
    uint64_t hash = 14695981039346656037U;
    for (const unsigned char *byte = data; size > 0; byte++, size--)
        hash = (hash ^ *byte) * 1099511628211U;
    return hash ^ hash >> 32;
}

/* Returns the place of a key, or the free place for it. */
static uint32_t *find_place(const struct trace_map *map, const void *data, size_t size)
{
    const size_t mask = map->place_count - 1;
    for (size_t i = hash_bytes(data, size) & mask;; i = (i + 1) & mask) {
        if (!map->places[i])
            return &map->places[i];
        const struct trace_map_key *key = &map->keys[map->places[i] - 1];
        if (key->size == size && !memcmp(key->data, data, size))
            return &map->places[i];
    }
}

static bool make_places(struct trace_map *map)
{
    if (map->count + 1 <= map->place_count / 2)
        return true;
    const size_t count = map->place_count ? 2 * map->place_count : 64;
    uint32_t *places = calloc(count, sizeof *places);
    if (!places)
        return false;
    free(map->places);
    map->places = places;
    map->place_count = count;
    for (size_t i = 0; i < map->count; i++)
        *find_place(map, map->keys[i].data, map->keys[i].size) = (uint32_t)i + 1;
    return true;
}

uint32_t trace_map_add(struct trace_map *map, const void *data, size_t size, bool *is_new)
{
    if (!QMPI_MEMORY_RESERVE(map->keys, map->room, map->count + 1) || !make_places(map) ||
        map->count >= TRACE_NO_NUMBER - 1) {
        map->failed = true;
        return TRACE_NO_NUMBER;
    }
    uint32_t *place = find_place(map, data, size);
    if (is_new)
        *is_new = !*place;
    if (*place)
        return *place - 1;
    char *copy = malloc(size + 1);
    if (!copy) {
        map->failed = true;
        return TRACE_NO_NUMBER;
    }
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    map->keys[map->count] = (struct trace_map_key){copy, size};
    *place = (uint32_t)++map->count;
    return *place - 1;
}

uint32_t trace_map_find(const struct trace_map *map, const void *data, size_t size)
{
    return map->place_count ? *find_place(map, data, size) - 1 : TRACE_NO_NUMBER;
}

void trace_map_clear(struct trace_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        free(map->keys[i].data);
    free(map->keys);
    free(map->places);
    *map = (struct trace_map){0};
}
