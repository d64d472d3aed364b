/* SPDX-License-Identifier: MIT */
/* See checks.h. */
#define _GNU_SOURCE
#include "validator/checks.h"

#include "util/util.h"
#include "validator/notes.h"
#include "validator/visit.h"
#include "validator/watch.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* A hash table with linear probing. Removed blocks leave the address GONE. */
struct block {
    const void *address; /* NULL: never used */
    size_t size;
    int tool_id;
};
static const char gone;
#define GONE ((const void *)&gone)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static size_t capacity, used; /* `used` includes removed blocks. */

static struct block *find_place(const void *address)
{
    size_t i = ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; i++) {
        struct block *block = &blocks[i & (capacity - 1)];
        if (!block->address || block->address == address)
            return block;
    }
}

static void grow(void)
{
    enum { FIRST = 1024 };
    struct block *const old = blocks;
    const size_t old_capacity = capacity;
    size_t live = 0;
    for (size_t i = 0; i < old_capacity; i++)
        live += old[i].address && old[i].address != GONE;
    capacity = live * 4 < FIRST ? FIRST : 1;
    while (capacity < live * 4)
        capacity *= 2;
    blocks = qmpi_allocate(capacity, sizeof *blocks);
    used = live;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].address && old[i].address != GONE)
            *find_place(old[i].address) = old[i];
    }
    free(old);
}

static void count_bytes(int tool_id, long long bytes)
{
    const struct visit *visit = visit_current();
    const bool in_visit = visit && visit->tool_id == tool_id && !visit->below;
    notes_add_memory(tool_id, in_visit ? visit->function : NULL, bytes);
}

/* Adds a new block if `caller` is in the code of a layer. Returns `address`, which may be NULL. */
static void *add(void *address, size_t size, const void *caller)
{
    const int tool_id = address ? watch_find_layer(caller) : 0;
    if (!tool_id)
        return address;
    pthread_mutex_lock(&lock);
    if (used * 2 >= capacity)
        grow();
    struct block *block = find_place(address);
    used += !block->address;
    *block = (struct block){address, size, tool_id};
    pthread_mutex_unlock(&lock);
    count_bytes(tool_id, (long long)size);
    return address;
}

/* Removes a block that is about to be freed. */
static void forget(const void *address)
{
    struct block found = {NULL, 0, 0};
    pthread_mutex_lock(&lock);
    struct block *block = address && capacity ? find_place(address) : NULL;
    if (block && block->address) {
        found = *block;
        block->address = GONE;
    }
    pthread_mutex_unlock(&lock);
    if (found.address)
        count_bytes(found.tool_id, -(long long)found.size);
}

size_t validator_heap_size(const void *address)
{
    pthread_mutex_lock(&lock);
    const struct block *block = capacity ? find_place(address) : NULL;
    const size_t size = block && block->address ? block->size : 0;
    pthread_mutex_unlock(&lock);
    return size;
}

/* ---- The functions of C ---------------------------------------------------------------------- */

static void *watched_malloc(size_t size)
{
    return add(malloc(size), size, WATCH_CALLER);
}

static void *watched_calloc(size_t count, size_t size)
{
    return add(calloc(count, size), count * size, WATCH_CALLER);
}

static void *watched_realloc(void *old, size_t size)
{
    const size_t old_size = validator_heap_size(old);
    forget(old);
    void *const new = realloc(old, size);
    if (!new &&size && old_size)
        add(old, old_size, WATCH_CALLER);
    return add(new, size, WATCH_CALLER);
}

static void *watched_reallocarray(void *old, size_t count, size_t size)
{
    const size_t old_size = validator_heap_size(old);
    forget(old);
    void *const new = reallocarray(old, count, size);
    if (!new &&count && size &&old_size)
        add(old, old_size, WATCH_CALLER);
    return add(new, count * size, WATCH_CALLER);
}

static void *watched_aligned_alloc(size_t alignment, size_t size)
{
    return add(aligned_alloc(alignment, size), size, WATCH_CALLER);
}

static int watched_posix_memalign(void **address, size_t alignment, size_t size)
{
    const int error = posix_memalign(address, alignment, size);
    if (!error)
        add(*address, size, WATCH_CALLER);
    return error;
}

static char *watched_strdup(const char *text)
{
    return add(strdup(text), strlen(text) + 1, WATCH_CALLER);
}

static char *watched_strndup(const char *text, size_t length)
{
    return add(strndup(text, length), strnlen(text, length) + 1, WATCH_CALLER);
}

static void watched_free(void *address)
{
    forget(address);
    free(address);
}

/* ---- operator new and delete ----------------------------------------------------------------- */

typedef void *allocate_function(size_t size);
typedef void free_function(void *address);
typedef void free_sized_function(void *address, size_t size);
static allocate_function *new_one, *new_array;
static free_function *delete_one, *delete_array;
static free_sized_function *delete_sized_one, *delete_sized_array;

static void *watched_new(size_t size)
{
    return add(new_one(size), size, WATCH_CALLER);
}

static void *watched_new_array(size_t size)
{
    return add(new_array(size), size, WATCH_CALLER);
}

static void watched_delete(void *address)
{
    forget(address);
    delete_one(address);
}

static void watched_delete_array(void *address)
{
    forget(address);
    delete_array(address);
}

static void watched_delete_sized(void *address, size_t size)
{
    forget(address);
    delete_sized_one(address, size);
}

static void watched_delete_sized_array(void *address, size_t size)
{
    forget(address);
    delete_sized_array(address, size);
}

#define WATCHED(name) (watch_function *)watched_##name

static struct watch_entry operators[] = {
    {"_Znwm", WATCHED(new)},
    {"_Znam", WATCHED(new_array)},
    {"_ZdlPv", WATCHED(delete)},
    {"_ZdaPv", WATCHED(delete_array)},
    {"_ZdlPvm", WATCHED(delete_sized)},
    {"_ZdaPvm", WATCHED(delete_sized_array)},
};

/* Returns the operator that the tool would call without validation. This is the operator of the
 * program or of a preloaded library, if there is one, and otherwise that of the C++ library. */
static uintptr_t find_operator(void *library, const char *name)
{
    void *const replaced = dlsym(RTLD_DEFAULT, name);
    return (uintptr_t)(replaced ? replaced : dlsym(library, name));
}

void validator_heap_prepare_operators(void)
{
    static void *library;
    if (library)
        return;
    library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
    new_one = (allocate_function *)find_operator(library, "_Znwm");
    new_array = (allocate_function *)find_operator(library, "_Znam");
    delete_one = (free_function *)find_operator(library, "_ZdlPv");
    delete_array = (free_function *)find_operator(library, "_ZdaPv");
    delete_sized_one = (free_sized_function *)find_operator(library, "_ZdlPvm");
    delete_sized_array = (free_sized_function *)find_operator(library, "_ZdaPvm");
    if (new_one && new_array && delete_one && delete_array && delete_sized_one &&
        delete_sized_array)
        watch_add(operators, sizeof operators / sizeof *operators, true);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

static void lock_blocks(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_blocks(void)
{
    pthread_mutex_unlock(&lock);
}

void validator_heap_start(void)
{
    static const struct watch_entry functions[] = {
        {"malloc", WATCHED(malloc)},
        {"calloc", WATCHED(calloc)},
        {"realloc", WATCHED(realloc)},
        {"reallocarray", WATCHED(reallocarray)},
        {"aligned_alloc", WATCHED(aligned_alloc)},
        {"posix_memalign", WATCHED(posix_memalign)},
        {"strdup", WATCHED(strdup)},
        {"__strdup", WATCHED(strdup)},
        {"strndup", WATCHED(strndup)},
        {"free", WATCHED(free)},
    };
    pthread_atfork(lock_blocks, unlock_blocks, unlock_blocks);
    watch_add(functions, sizeof functions / sizeof *functions, true);
}
