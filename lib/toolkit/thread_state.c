/* SPDX-License-Identifier: MIT */
/* See thread_state.h. */
#define _GNU_SOURCE
#include "toolkit/thread_state.h"

#include "util/util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct thread_level *thread_level_current;

static size_t level_size;
static void (*level_left)(struct thread_level *level);
static pthread_key_t key;
/* This is the list of the first levels of all threads. A level is complete before it is added at
 * the front, and is never removed. */
static _Atomic(struct thread_level *) all;

static int thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

/* Gives up the levels of a thread that ends. They are not freed, because another thread may be
 * reading them. */
static void leave_levels(struct thread_level *first)
{
    for (struct thread_level *level = first; level; level = level->deeper) {
        level->busy = NULL;
        if (level_left)
            level_left(level);
    }
}

static void leave_thread(void *data)
{
    struct thread_level *first = data;
    thread_level_current = NULL;
    leave_levels(first);
    atomic_store(&first->late, 0);
    atomic_store(&first->left, thread_id());
    atomic_store_explicit(&first->taken, false, memory_order_release);
}

void thread_level_start(size_t size, void (*left)(struct thread_level *level))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!level_size) {
        level_left = left;
        /* The key is created early, because the first keys of a process need no memory. */
        pthread_key_create(&key, leave_thread);
        level_size = size;
    }
    pthread_mutex_unlock(&lock);
}

static struct thread_level *take_left(void)
{
    struct thread_level *level = atomic_load(&all);
    while (level && (atomic_load_explicit(&level->taken, memory_order_relaxed) ||
                     atomic_exchange_explicit(&level->taken, true, memory_order_acquire)))
        level = level->next;
    return level;
}

/* Takes the level of a thread that has ended, and could not leave it. */
static struct thread_level *take_dead(void)
{
    for (struct thread_level *level = atomic_load(&all); level; level = level->next) {
        const int error = errno;
        int late = atomic_load(&level->late);
        const bool is_dead = late && syscall(SYS_tgkill, getpid(), late, 0) && errno == ESRCH;
        errno = error;
        if (is_dead && atomic_compare_exchange_strong(&level->late, &late, 0)) {
            leave_levels(level);
            return level;
        }
    }
    return NULL;
}

/* Returns whether the thread has left a level. If its ID is that of an earlier thread, the result
 * may be wrong, which does no harm. */
static bool has_left(int thread)
{
    const struct thread_level *level = atomic_load(&all);
    while (level && atomic_load_explicit(&level->left, memory_order_relaxed) != thread)
        level = level->next;
    return level != NULL;
}

static struct thread_level *begin_thread(void)
{
    const int self = thread_id();
    const bool is_late = has_left(self);
    struct thread_level *level = take_left();
    if (!level)
        level = take_dead();
    if (!level && (level = qmpi_memory_take(level_size))) {
        atomic_store_explicit(&level->taken, true, memory_order_relaxed);
        level->next = atomic_load(&all);
        while (!atomic_compare_exchange_weak(&all, &level->next, level))
            continue;
    }
    if (level) {
        atomic_store(&level->late, is_late ? self : 0);
        thread_level_current = level;
        pthread_setspecific(key, level);
    }
    return level;
}

/*
 * Returns whether the thread has left the work that began at `begun`, for instance with longjmp out
 * of the handler that interrupted it. `where` is a position on the stack in the current work. The
 * stack grows downwards, so work that interrupts other work is below it. On an alternate signal
 * stack the addresses prove nothing, and the result is false.
 */
static bool was_left(const void *begun, const void *where)
{
    stack_t stack;
    return (uintptr_t)begun <= (uintptr_t)where &&
           !(sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK));
}

static struct thread_level *next_level(struct thread_level *level)
{
    if (!level->deeper) {
        struct thread_level *deeper = qmpi_memory_take(level_size);
        if (!deeper)
            return NULL;
        deeper->outer = level;
        level->deeper = deeper;
    }
    return level->deeper;
}

struct thread_level *thread_level_find(const void *where)
{
    struct thread_level *level = thread_level_current;
    if (!level)
        return begin_thread();
    while (level->outer && was_left(level->outer->busy, where))
        level = level->outer;
    if (level->busy && was_left(level->busy, where))
        level->busy = NULL;
    if (level->busy)
        level = next_level(level);
    if (level)
        thread_level_current = level;
    return level;
}
