/* SPDX-License-Identifier: MIT */
/* Numbers that a tool gives to the objects of MPI handles, and the handles that calls in progress
 * are freeing. */
#ifndef QMPI_TOOLKIT_HANDLES_H
#define QMPI_TOOLKIT_HANDLES_H

#include <qmpi/observer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Numbers of objects ---------------------------------------------------------------------- */

/*
 * This map contains MPI handles and the numbers that a tool has given to their objects. Calls read
 * the map without a lock. The tool changes it under a lock of its own when it first sees an object,
 * and when the object is freed, because MPI may then give the same handle to another object. The
 * map grows, takes its memory from malloc, and keeps its old slots, because other threads may be
 * reading them.
 */

struct handle_slot {
    uint64_t handle;
    /* This is HANDLE_FREE, HANDLE_REMOVED, or the number plus HANDLE_FIRST. It is stored with
     * release after `handle`, and is loaded with acquire before `handle`. The handle of a slot that
     * is not free never changes. */
    int64_t state;
};
enum { HANDLE_FREE = 0, HANDLE_REMOVED = 1, HANDLE_FIRST = 2 };

struct handle_map {
    int bits;                 /* The map has 2^bits slots. */
    struct handle_map *older; /* This map is kept because threads may still be reading it. */
    struct handle_slot slots[];
};

struct handles {
    /* This is NULL until the first handle is set. A map is stored with release once it contains
     * what the one before it contains, and is loaded with acquire. */
    struct handle_map *map;
    size_t used; /* This is the number of slots in use, including removed ones. */
    /* This grows after each change of the map, with release, and is loaded with acquire before a
     * search whose result a thread remembers. */
    uint64_t changes;
};

/* Returns a handle as a word. `handle` is a variable of a handle type of at most 64 bits. */
#define HANDLE_WORD(handle) handle_word(&(handle), sizeof(handle))
static inline uint64_t handle_word(const void *handle, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, handle, size < sizeof word ? size : sizeof word);
    return word;
}

/* Returns the slot at which the search for a handle begins. */
static inline size_t handles_place(const struct handle_map *map, uint64_t handle)
{
    return (size_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> (64 - map->bits));
}

/* Returns the number of a handle, or -1 if the handle is not known. Any thread may call this, and
 * needs no lock. */
static inline int handles_find(const struct handles *handles, uint64_t handle)
{
    const struct handle_map *map = __atomic_load_n(&handles->map, __ATOMIC_ACQUIRE);
    if (!map)
        return -1;
    const size_t mask = ((size_t)1 << map->bits) - 1;
    size_t place = handles_place(map, handle);
    for (;; place = (place + 1) & mask) {
        const struct handle_slot *slot = &map->slots[place];
        const int64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
        if (state == HANDLE_FREE)
            return -1;
        if (slot->handle == handle)
            return state == HANDLE_REMOVED ? -1 : (int)(state - HANDLE_FIRST);
    }
}

/* Returns a number that changes with each change of the map. A thread may use a result of
 * handles_find again as long as this number is the one that it read before it called handles_find.
 * Any thread may call this, and needs no lock. */
static inline uint64_t handles_changes(const struct handles *handles)
{
    return __atomic_load_n(&handles->changes, __ATOMIC_ACQUIRE);
}

/* Maps a handle to `number`, which must not be negative. The caller holds the lock. Returns false
 * if memory is exhausted. */
bool handles_set(struct handles *handles, uint64_t handle, int number);

/* Removes a handle. The caller holds the lock. */
void handles_remove(struct handles *handles, uint64_t handle);

/* Removes all handles. The caller holds the lock. */
void handles_clear(struct handles *handles);

/* ---- Handles that are being freed ------------------------------------------------------------ */

/*
 * Leavings are the handles that calls in progress are freeing. Such a call is, for instance,
 * MPI_Comm_free or MPI_File_close. A thread can have several at once, because such a call may run a
 * callback of an attribute that frees another handle. Only the thread itself uses its leavings.
 */

/* This describes a call in progress that is freeing a handle. */
struct handle_leaving {
    const QMPIX_Word *word; /* This is the word of the call. */
    uint64_t handle;
    int number; /* This is the number that the tool has given to the object. */
    int kind;   /* The tool decides what the kind of an object means. */
};

enum { HANDLE_LEAVINGS_MAX = 8 };
struct handle_leavings {
    struct handle_leaving all[HANDLE_LEAVINGS_MAX];
    int count;
};

/* Adds a leaving before the call, and removes those of calls that the thread has left with longjmp
 * or an exception. `leaving` is copied. It is not added if its number is negative or if there are
 * HANDLE_LEAVINGS_MAX already. */
void handles_add_leaving(struct handle_leavings *leavings, const struct handle_leaving *leaving);

/* Returns the leaving of the call of `word`, or NULL if none was added for it. */
struct handle_leaving *handles_find_leaving(struct handle_leavings *leavings,
                                            const QMPIX_Word *word);

/* Removes a leaving after its call, and those of calls within that call. `leaving` must come from
 * handles_find_leaving. */
void handles_end_leaving(struct handle_leavings *leavings, const struct handle_leaving *leaving);

#endif
