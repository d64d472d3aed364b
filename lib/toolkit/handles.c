/* SPDX-License-Identifier: MIT */
/* See handles.h. */
#include "toolkit/handles.h"

#include <stddef.h>
#include <stdlib.h>

enum { FIRST_BITS = 4 };

/* Returns the slot of a handle, or the free one where the handle belongs. */
static struct handle_slot *slot_of(struct handle_map *map, uint64_t handle)
{
    const size_t mask = ((size_t)1 << map->bits) - 1;
    size_t place = handles_place(map, handle);
    while (map->slots[place].state != HANDLE_FREE && map->slots[place].handle != handle)
        place = (place + 1) & mask;
    return &map->slots[place];
}

static struct handle_map *make_map(int bits)
{
    struct handle_map *map =
        calloc(1, sizeof *map + ((size_t)1 << bits) * sizeof(struct handle_slot));
    if (map)
        map->bits = bits;
    return map;
}

/* Replaces the map with a new one that has no removed handles and is at most a quarter full. The
 * old map is not freed, because other threads may be reading it. Returns false if memory is
 * exhausted. */
static bool renew_map(struct handles *handles)
{
    struct handle_map *old = handles->map;
    size_t live = 0;
    for (size_t i = 0; old && i < (size_t)1 << old->bits; i++)
        live += old->slots[i].state >= HANDLE_FIRST;
    int bits = FIRST_BITS;
    while ((size_t)1 << bits < 4 * (live + 1))
        bits++;
    struct handle_map *map = make_map(bits);
    if (!map)
        return false;
    for (size_t i = 0; old && i < (size_t)1 << old->bits; i++) {
        if (old->slots[i].state >= HANDLE_FIRST)
            *slot_of(map, old->slots[i].handle) = old->slots[i];
    }
    map->older = old;
    handles->used = live;
    __atomic_store_n(&handles->map, map, __ATOMIC_RELEASE);
    return true;
}

/* Counts a change. This must be called after the change, so that a thread that reads the new number
 * of changes also finds the change. */
static void count_change(struct handles *handles)
{
    __atomic_store_n(&handles->changes, handles->changes + 1, __ATOMIC_RELEASE);
}

bool handles_set(struct handles *handles, uint64_t handle, int number)
{
    struct handle_slot *slot = handles->map ? slot_of(handles->map, handle) : NULL;
    if (!slot || slot->state == HANDLE_FREE) {
        if ((!handles->map || 2 * (handles->used + 1) > (size_t)1 << handles->map->bits) &&
            !renew_map(handles))
            return false;
        slot = slot_of(handles->map, handle);
        slot->handle = handle;
        handles->used++;
    }
    __atomic_store_n(&slot->state, number + (int64_t)HANDLE_FIRST, __ATOMIC_RELEASE);
    count_change(handles);
    return true;
}

void handles_remove(struct handles *handles, uint64_t handle)
{
    struct handle_slot *slot = handles->map ? slot_of(handles->map, handle) : NULL;
    if (!slot || slot->state == HANDLE_FREE)
        return;
    __atomic_store_n(&slot->state, (int64_t)HANDLE_REMOVED, __ATOMIC_RELEASE);
    count_change(handles);
}

void handles_clear(struct handles *handles)
{
    struct handle_map *map = handles->map;
    for (size_t i = 0; map && i < (size_t)1 << map->bits; i++) {
        if (map->slots[i].state >= HANDLE_FIRST)
            __atomic_store_n(&map->slots[i].state, (int64_t)HANDLE_REMOVED, __ATOMIC_RELEASE);
    }
    count_change(handles);
}

/* ---- Handles that are being freed ------------------------------------------------------------ */

void handles_add_leaving(struct handle_leavings *leavings, const struct handle_leaving *leaving)
{
    /* The stack grows downwards, so a call whose word is not above that of the new call has been
     * left with longjmp or an exception. */
    while (leavings->count &&
           (uintptr_t)leavings->all[leavings->count - 1].word <= (uintptr_t)leaving->word)
        leavings->count--;
    if (leaving->number >= 0 && leavings->count < HANDLE_LEAVINGS_MAX)
        leavings->all[leavings->count++] = *leaving;
}

struct handle_leaving *handles_find_leaving(struct handle_leavings *leavings,
                                            const QMPIX_Word *word)
{
    for (int i = leavings->count; i > 0; i--) {
        if (leavings->all[i - 1].word == word)
            return &leavings->all[i - 1];
    }
    return NULL;
}

void handles_end_leaving(struct handle_leavings *leavings, const struct handle_leaving *leaving)
{
    leavings->count = (int)(leaving - leavings->all);
}
