/* SPDX-License-Identifier: MIT */
/* See thread_state.h. */
#define _GNU_SOURCE
#include "toolkit/thread_state.h"

#include "toolkit/arena.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

_Thread_local struct own_thread *own_thread_level;

static size_t level_size;
static void (*level_left)(struct own_thread *level);
static pthread_key_t key;
static _Atomic(struct own_thread *) all;

/* Levels stay where they are: whoever reads what is in them may be at it. */
static void leave(void *data)
{
    struct own_thread *first = data;
    own_thread_level = NULL;
    for (struct own_thread *level = first; level; level = level->deeper) {
        level->busy = NULL;
        if (level_left)
            level_left(level);
    }
    atomic_store_explicit(&first->taken, false, memory_order_release);
}

void own_thread_start(size_t size, void (*left)(struct own_thread *level))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!level_size) {
        level_left = left;
        pthread_key_create(&key, leave); /* here: the first keys of a process need no memory */
        level_size = size;
    }
    pthread_mutex_unlock(&lock);
}

static struct own_thread *take_left(void)
{
    struct own_thread *level = atomic_load(&all);
    while (level && (atomic_load_explicit(&level->taken, memory_order_relaxed) ||
                     atomic_exchange_explicit(&level->taken, true, memory_order_acquire)))
        level = level->next;
    return level;
}

static struct own_thread *begin_thread(void)
{
    struct own_thread *level = take_left();
    if (!level && (level = tool_memory_take(level_size))) {
        atomic_store_explicit(&level->taken, true, memory_order_relaxed);
        level->next = atomic_load(&all);
        while (!atomic_compare_exchange_weak(&all, &level->next, level))
            continue;
    }
    if (level) {
        own_thread_level = level;
        pthread_setspecific(key, level);
    }
    return level;
}

/*
 * Whether work that began at `begun` was left by a jump (longjmp out of the handler that
 * interrupted it), as seen from `where`. The stack grows downwards: what was called from there is
 * below it. A handler on a stack of its own tells nothing.
 */
static bool was_left(const void *begun, const void *where)
{
    stack_t stack;
    return (uintptr_t)begun <= (uintptr_t)where &&
           !(sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK));
}

static struct own_thread *next_level(struct own_thread *level)
{
    if (!level->deeper) {
        struct own_thread *deeper = tool_memory_take(level_size);
        if (!deeper)
            return NULL;
        deeper->outer = level;
        level->deeper = deeper;
    }
    return level->deeper;
}

struct own_thread *own_thread_find(const void *where)
{
    struct own_thread *level = own_thread_level;
    if (!level)
        return begin_thread();
    while (level->outer && was_left(level->outer->busy, where))
        level = level->outer;
    if (level->busy && was_left(level->busy, where))
        level->busy = NULL;
    if (level->busy)
        level = next_level(level);
    if (level)
        own_thread_level = level;
    return level;
}
