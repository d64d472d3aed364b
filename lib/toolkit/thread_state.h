/* SPDX-License-Identifier: MIT */
/*
 * What a tool keeps for each thread, and for each level of it.
 *
 * A signal may strike a thread while a tool is at work for a call, and its handler may call MPI
 * (see docs/write/mpi_t.md): the tool is then called again, in the same thread, with its
 * own work half done. So a thread has levels. A call that finds a level busy uses the next one: it
 * touches nothing that the interrupted work is at, waits for none of its locks, and nothing that it
 * notes is lost. Levels are made of tool_memory_take, so that even a thread's first call may come
 * from a handler.
 *
 * The tool's own structure begins with struct thread_level. Those of a thread that has ended go to
 * the next one that begins; none is ever freed.
 */
#ifndef QMPI_TOOLKIT_THREAD_STATE_H
#define QMPI_TOOLKIT_THREAD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct thread_level {
    const void *busy;            /* where on the stack the tool's work began; NULL: there is none */
    struct thread_level *outer;  /* the level whose work was interrupted; NULL: the first level */
    struct thread_level *deeper; /* NULL: not made yet */
    struct thread_level *next;   /* of all first levels */
    atomic_bool taken;           /* of a first level: by a thread that is alive */
};

/* This thread's present level; NULL: it has none yet. One pointer fits the room that the loader
 * keeps for such variables. */
extern _Thread_local struct thread_level *thread_level_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* To be called in `init`. `left` is given each level that a thread leaves behind; NULL: nothing is
 * to be done. Again: does nothing. */
void thread_level_start(size_t size, void (*left)(struct thread_level *level));

/* The level to be used where the present one is busy, or there is none; NULL: memory is out. */
struct thread_level *thread_level_find(const void *where);

/* Begins the tool's work for a call; NULL: memory is out. What is returned is thread_level_current.
 * `where`: of the call, on the stack. */
static inline struct thread_level *thread_level_enter_at(const void *where)
{
    struct thread_level *level = thread_level_current;
    if (__builtin_expect(!level || level->busy, 0) && !(level = thread_level_find(where)))
        return NULL;
    level->busy = where;
    atomic_signal_fence(memory_order_seq_cst);
    return level;
}

/* The same for whoever has nothing of the call's on the stack at hand. */
static inline struct thread_level *thread_level_enter(void)
{
    return thread_level_enter_at(__builtin_frame_address(0));
}

/* Ends it. `level` is what thread_level_enter gave, and may be NULL. */
static inline void thread_level_leave(struct thread_level *level)
{
    if (__builtin_expect(!level, 0))
        return;
    atomic_signal_fence(memory_order_seq_cst);
    level->busy = NULL;
    if (__builtin_expect(level->outer != NULL, 0))
        thread_level_current = level->outer;
}

/* Whether work of this thread was interrupted for the present one. */
static inline bool thread_level_interrupts(void)
{
    return thread_level_current && thread_level_current->outer;
}

#endif
