/* SPDX-License-Identifier: MIT */
/*
 * Manages the data that a tool keeps for each thread, and for each level of a thread.
 *
 * A signal may interrupt a thread while a tool handles a call, and its handler may call MPI (see
 * docs/write/mpi_t.md). The tool is then called again in the same thread, while its previous work
 * is incomplete. Therefore, a thread has levels. A call that finds a level busy uses the next one,
 * so that it does not access data that the interrupted work uses, does not wait for the locks of
 * that work, and loses no records. Levels are allocated by qmpi_memory_take, so even the first call
 * of a thread may come from a handler.
 *
 * The structure of the tool starts with struct thread_level. The levels of a thread that has ended
 * are reused by the next new thread, and never freed.
 *
 * A thread may make calls after the destructor of its levels has run: in the destructor of other
 * thread-specific data. It then begins again. After the last round of destructors, nobody tells the
 * end of the thread. Another thread takes these levels when it finds that the thread is gone.
 */
#ifndef QMPI_TOOLKIT_THREAD_STATE_H
#define QMPI_TOOLKIT_THREAD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct thread_level {
    /* This is the position on the stack at which the work started, or NULL if the level is idle. */
    const void *busy;
    /* This is the level whose work was interrupted, or NULL if this is the first level. */
    struct thread_level *outer;
    struct thread_level *deeper; /* This is NULL until the next level is needed. */
    struct thread_level *next;   /* The first levels of all threads form a list. */
    /* True while a live thread uses this first level. A thread that ends stores false with release.
     * The next thread exchanges it with acquire, so that it sees what the other has stored. */
    atomic_bool taken;
    /* In a first level, the thread ID in the kernel of the thread that has left it last, and of the
     * one that uses it and has left a level before, or 0. */
    atomic_int left, late;
};

/* This is the current level of this thread, or NULL if the thread has none yet. This is a single
 * pointer, so that it fits into the static TLS space that the loader reserves. */
extern _Thread_local struct thread_level *thread_level_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Prepares the levels. A tool must call this in `init`, and further calls have no effect. `size` is
 * the size of the tool's structure in bytes. `left` is called for each level of a thread that ends,
 * by this thread or, if it is gone, by another one. It may be NULL. */
void thread_level_start(size_t size, void (*left)(struct thread_level *level));

/* Returns the level to use if the current one is busy or missing, and makes it the current one.
 * `where` is the position on the stack at which the new work starts. Returns NULL if memory is
 * exhausted. */
struct thread_level *thread_level_find(const void *where);

/* Starts the work of the tool at a level that is not busy. */
static inline void thread_level_take(struct thread_level *level, const void *where)
{
    level->busy = where;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Starts the work of the tool for a call. `where` is the position of the call on the stack. Returns
 * thread_level_current, or NULL if memory is exhausted. */
static inline struct thread_level *thread_level_enter_at(const void *where)
{
    struct thread_level *level = thread_level_current;
    if (__builtin_expect(!level || level->busy, 0) && !(level = thread_level_find(where)))
        return NULL;
    thread_level_take(level, where);
    return level;
}

/* Starts the work of the tool at the stack frame of the caller. Returns thread_level_current, or
 * NULL if memory is exhausted. */
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

/* Ends the work at a level that is known to be the first one of the thread. */
static inline void thread_level_leave_first(struct thread_level *level)
{
    atomic_signal_fence(memory_order_seq_cst);
    level->busy = NULL;
}

/* Returns whether the current work interrupts other work of this thread. */
static inline bool thread_level_interrupts(void)
{
    return thread_level_current && thread_level_current->outer;
}

#endif
