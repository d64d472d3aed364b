/* SPDX-License-Identifier: MIT */
/* See checks.h. */
#define _GNU_SOURCE
#include "validator/checks.h"

#include "validator/watch.h"

#include <string.h>

static const struct qmpi_validate_host *host;

enum { IDS = 256, BYTES_MAX = 4096, STATIC_MAX = 64 };

/* How the code of each layer runs, by tool_id. */
static struct {
    _Atomic int running;              /* the number of threads in which the code runs */
    _Atomic unsigned long long times; /* how often the code has begun to run */
} activity[IDS];

/* The storage of a layer at the moment when the code of another layer began to run in this thread,
 * by tool_id of the owner. */
struct seen {
    const void *storage;
    size_t size;
    uint64_t sum;
    unsigned long long times;
};
static _Thread_local struct seen seen[IDS];
static _Thread_local const struct visit *current;

void validator_storage_start(const struct qmpi_validate_host *given)
{
    host = given;
}

/* ---- The bytes of a storage ------------------------------------------------------------------ */

static const void *storage_of(int tool_id)
{
    return tool_id <= QMPIX_stack.layers ? QMPIX_stack.storage[tool_id] : NULL;
}

static bool have_one_library(int tool_id, int other)
{
    const char *library = NULL, *other_library = NULL;
    return QMPIX_Tool_get_library(tool_id, &library) != MPI_SUCCESS ||
           QMPIX_Tool_get_library(other, &other_library) != MPI_SUCCESS || !library ||
           !other_library || !strcmp(library, other_library);
}

/* Returns the number of bytes of the owner's storage that layer `tool_id` must not write, or 0 if
 * it is unknown. If the storage is a variable, its size is unknown, and only its first bytes count.
 * These are fewer if both layers have the same library, because the memory after the variable may
 * then belong to layer `tool_id`. */
static size_t size_of(int owner, int tool_id)
{
    const char *const storage = storage_of(owner);
    size_t size = validator_heap_size(storage);
    if (!size && watch_contains(owner, storage)) {
        size = have_one_library(owner, tool_id) ? sizeof(int) : STATIC_MAX;
        while (size && !watch_contains(owner, storage + size - 1))
            size--;
    }
    /* The storage ends at the next one at the latest. */
    for (int other = 1; other <= host->layers; other++) {
        const char *const others = storage_of(other);
        if (others == storage && other != owner)
            return 0; /* The layers share it on purpose. */
        if (others > storage && (size_t)(others - storage) < size)
            size = (size_t)(others - storage);
    }
    return size < BYTES_MAX ? size : BYTES_MAX;
}

/* Sanitizers ignore this function, because other threads may write these bytes at the same time. */
__attribute__((no_sanitize("address", "thread"))) static uint64_t sum_of(const void *bytes,
                                                                         size_t size)
{
    const volatile unsigned char *byte = bytes;
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ byte[i]) * UINT64_C(1099511628211);
    return sum;
}

/* ---- Changes by the owner -------------------------------------------------------------------- */

/* Returns whether the storage contains addresses in the owner's library. They may be functions of
 * the owner that other layers call. */
__attribute__((no_sanitize("address", "thread"))) static bool
offers_functions(int owner, const void *storage, size_t size)
{
    const unsigned char *const bytes = storage;
    const size_t first = -(uintptr_t)bytes % sizeof(uintptr_t);
    for (size_t i = first; i + sizeof(uintptr_t) <= size; i += sizeof(uintptr_t)) {
        if (watch_contains(owner, *(const void *const volatile *)(bytes + i)))
            return true;
    }
    return false;
}

/* Returns whether the owner's storage is watched while the code of layer `tool_id` runs. */
static bool is_watched(int owner, int tool_id)
{
    return owner != tool_id && storage_of(owner) && !activity[owner].running &&
           !watch_runs_outside_calls(owner);
}

/* ---- While the code of a layer runs ---------------------------------------------------------- */

void validator_storage_begin(const struct visit *visit)
{
    const int tool_id = visit->tool_id;
    activity[tool_id].running++;
    activity[tool_id].times++;
    current = visit;
    for (int owner = 1; owner <= host->layers; owner++) {
        struct seen *of = &seen[owner];
        *of = (struct seen){NULL, 0, 0, activity[owner].times};
        if (!is_watched(owner, tool_id))
            continue;
        of->storage = storage_of(owner);
        of->size = size_of(owner, tool_id);
        of->sum = sum_of(of->storage, of->size);
    }
}

/* Returns whether the owner's storage still exists and has changed, and only this thread can have
 * changed it. */
static bool has_changed(int owner, int tool_id)
{
    const struct seen *of = &seen[owner];
    return of->size && of->storage == storage_of(owner) && of->size == size_of(owner, tool_id) &&
           sum_of(of->storage, of->size) != of->sum && !activity[owner].running &&
           activity[owner].times == of->times && !offers_functions(owner, of->storage, of->size) &&
           !host->declares(owner, "shares-storage");
}

int validator_storage_end(const struct visit *visit)
{
    int changed = 0;
    if (current != visit) /* A call was left by longjmp or an exception. */
        return 0;
    current = NULL;
    for (int owner = 1; owner <= host->layers && !changed; owner++) {
        if (has_changed(owner, visit->tool_id))
            changed = owner;
    }
    activity[visit->tool_id].running--;
    return changed;
}
