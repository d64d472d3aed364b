/* SPDX-License-Identifier: MIT */
/*
 * The data of a tool for each thread, and for each level of a thread.
 *
 * A signal may interrupt a thread while a tool handles a call, and its handler may call MPI (see
 * docs/write/mpi_t.md). The tool is then called again in the same thread, while its previous work
 * is incomplete. Therefore, a thread has levels. A call that finds a level busy uses the next one:
 * it does not access data that the interrupted work uses, does not wait for its locks, and none of
 * its records are lost. Levels are allocated by qmpi_arena_take, so even the first call of a
 * thread may come from a handler.
 *
 * The structure of the tool starts with struct thread_level. The levels of a thread that has ended
 * are reused by the next new thread, and never freed.
 */
#ifndef QMPI_TOOLKIT_THREAD_STATE_H
#define QMPI_TOOLKIT_THREAD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct thread_level {
    const void *busy;            /* position on the stack where the work started; NULL: not busy */
    struct thread_level *outer;  /* the level whose work was interrupted; NULL: the first level */
    struct thread_level *deeper; /* NULL: not made yet */
    struct thread_level *next;   /* of all first levels */
    atomic_bool taken;           /* first levels: used by a live thread */
};

/* The current level of this thread; NULL: none yet. A single pointer fits into the static TLS space
 * that the loader reserves. */
extern _Thread_local struct thread_level *thread_level_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Called in `init`. `left` is called for each level of a thread that ends; NULL: not needed.
 * Further calls have no effect. */
void thread_level_start(size_t size, void (*left)(struct thread_level *level));

/* Returns the level to use if the current one is busy or missing; NULL: out of memory. */
struct thread_level *thread_level_find(const void *where);

/* Starts the work of the tool at a level that is not busy. */
static inline void thread_level_take(struct thread_level *level, const void *where)
{
    level->busy = where;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Starts the work of the tool for a call. Returns thread_level_current; NULL: out of memory.
 * `where` is the position of the call on the stack. */
static inline struct thread_level *thread_level_enter_at(const void *where)
{
    struct thread_level *level = thread_level_current;
    if (__builtin_expect(!level || level->busy, 0) && !(level = thread_level_find(where)))
        return NULL;
    thread_level_take(level, where);
    return level;
}

/* The same for callers without such a position. */
static inline struct thread_level *thread_level_enter(void)
{
    return thread_level_enter_at(__builtin_frame_address(0));
}

/* Ends the work. `level` is the result of thread_level_enter, and may be NULL. */
static inline void thread_level_leave(struct thread_level *level)
{
    if (__builtin_expect(!level, 0))
        return;
    atomic_signal_fence(memory_order_seq_cst);
    level->busy = NULL;
    if (__builtin_expect(level->outer != NULL, 0))
        thread_level_current = level->outer;
}

/* The same for a level that is known to be a first one. */
static inline void thread_level_leave_first(struct thread_level *level)
{
    atomic_signal_fence(memory_order_seq_cst);
    level->busy = NULL;
}

/* Whether the current work interrupts other work of this thread. */
static inline bool thread_level_interrupts(void)
{
    return thread_level_current && thread_level_current->outer;
}

#endif
