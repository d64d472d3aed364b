/* SPDX-License-Identifier: MIT */
/*
 * From an MPI handle to the number under which a tool knows the object behind it.
 * Read by every call, without a lock; changed under a lock of the tool when an object is first seen
 * and when it is freed, after which MPI may give its handle to another one.
 */
#ifndef QMPI_TOOLKIT_HANDLE_MAP_H
#define QMPI_TOOLKIT_HANDLE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct handle_slot {
    uint64_t handle;
    int64_t state; /* HANDLE_FREE, HANDLE_REMOVED, or the number + HANDLE_FIRST */
};
enum { HANDLE_FREE = 0, HANDLE_REMOVED = 1, HANDLE_FIRST = 2 };

struct handle_map {
    int bits;
    struct handle_map *older; /* readers may still be in it */
    struct handle_slot matrix[];
};

struct handles {
    struct handle_map *map; /* NULL: empty */
    size_t used;            /* cells, removed ones too */
    uint64_t changes;       /* grows when a handle gets another meaning, or loses it */
};

/* A handle of any type of up to 64 bits as a word. */
#define HANDLE_WORD(handle) handle_word(&(handle), sizeof(handle))
static inline uint64_t handle_word(const void *handle, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, handle, size < sizeof word ? size : sizeof word);
    return word;
}

/* Where the search for a handle begins. */
static inline size_t handles_place(const struct handle_map *map, uint64_t handle)
{
    return (size_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> (64 - map->bits));
}

/* The number of a handle; -1: not known. Any thread, without a lock. */
static inline int handles_find(const struct handles *handles, uint64_t handle)
{
    const struct handle_map *map = __atomic_load_n(&handles->map, __ATOMIC_ACQUIRE);
    if (!map)
        return -1;
    const size_t mask = ((size_t)1 << map->bits) - 1;
    size_t place = handles_place(map, handle);
    for (;; place = (place + 1) & mask) {
        const struct handle_slot *cell = &map->matrix[place];
        const int64_t state = __atomic_load_n(&cell->state, __ATOMIC_ACQUIRE);
        if (state == HANDLE_FREE)
            return -1;
        if (cell->handle == handle)
            return state == HANDLE_REMOVED ? -1 : (int)(state - HANDLE_FIRST);
    }
}

/* What was found before is right as long as this is what it was before that. Any thread. */
static inline uint64_t handles_changes(const struct handles *handles)
{
    return __atomic_load_n(&handles->changes, __ATOMIC_ACQUIRE);
}

/* Lets a handle mean `number` from now on. Under the lock. False: memory is out. */
bool handles_set(struct handles *handles, uint64_t handle, int number);

/* Forgets a handle. Under the lock. */
void handles_remove(struct handles *handles, uint64_t handle);

/* Forgets all. Under the lock. */
void handles_clear(struct handles *handles);

#endif
