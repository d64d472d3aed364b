/* SPDX-License-Identifier: MIT */
/* See handle_map.h. */
#include "toolkit/handle_map.h"

#include <stdlib.h>

enum { FIRST_BITS = 4 };

/* The handle's cell, or the free one where it belongs. */
static struct handle_slot *slot_of(struct handle_map *map, uint64_t handle)
{
    const size_t mask = ((size_t)1 << map->bits) - 1;
    size_t place = handles_place(map, handle);
    while (map->matrix[place].state != HANDLE_FREE && map->matrix[place].handle != handle)
        place = (place + 1) & mask;
    return &map->matrix[place];
}

static struct handle_map *make_map(int bits)
{
    struct handle_map *map =
        calloc(1, sizeof *map + ((size_t)1 << bits) * sizeof(struct handle_slot));
    if (map)
        map->bits = bits;
    return map;
}

/* Another map, without what was removed; twice as large where that is not enough. The old one stays
 * for those who are reading it. */
static bool renew(struct handles *handles)
{
    struct handle_map *old = handles->map;
    size_t live = 0;
    for (size_t i = 0; old && i < (size_t)1 << old->bits; i++)
        live += old->matrix[i].state >= HANDLE_FIRST;
    int bits = FIRST_BITS;
    while ((size_t)1 << bits < 4 * (live + 1))
        bits++;
    struct handle_map *map = make_map(bits);
    if (!map)
        return false;
    for (size_t i = 0; old && i < (size_t)1 << old->bits; i++) {
        if (old->matrix[i].state >= HANDLE_FIRST)
            *slot_of(map, old->matrix[i].handle) = old->matrix[i];
    }
    map->older = old;
    handles->used = live;
    __atomic_store_n(&handles->map, map, __ATOMIC_RELEASE);
    return true;
}

/* After the change: who reads the new number of changes finds what was changed. */
static void note_change(struct handles *handles)
{
    __atomic_store_n(&handles->changes, handles->changes + 1, __ATOMIC_RELEASE);
}

bool handles_set(struct handles *handles, uint64_t handle, int number)
{
    struct handle_slot *cell = handles->map ? slot_of(handles->map, handle) : NULL;
    if (!cell || cell->state == HANDLE_FREE) {
        if ((!handles->map || 2 * (handles->used + 1) > (size_t)1 << handles->map->bits) &&
            !renew(handles))
            return false;
        cell = slot_of(handles->map, handle);
        cell->handle = handle;
        handles->used++;
    }
    __atomic_store_n(&cell->state, number + (int64_t)HANDLE_FIRST, __ATOMIC_RELEASE);
    note_change(handles);
    return true;
}

void handles_remove(struct handles *handles, uint64_t handle)
{
    struct handle_slot *cell = handles->map ? slot_of(handles->map, handle) : NULL;
    if (!cell || cell->state == HANDLE_FREE)
        return;
    __atomic_store_n(&cell->state, (int64_t)HANDLE_REMOVED, __ATOMIC_RELEASE);
    note_change(handles);
}

void handles_clear(struct handles *handles)
{
    struct handle_map *map = handles->map;
    for (size_t i = 0; map && i < (size_t)1 << map->bits; i++) {
        if (map->matrix[i].state >= HANDLE_FIRST)
            __atomic_store_n(&map->matrix[i].state, (int64_t)HANDLE_REMOVED, __ATOMIC_RELEASE);
    }
    note_change(handles);
}
