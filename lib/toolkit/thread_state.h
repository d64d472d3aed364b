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
 * The tool's own structure begins with struct own_thread. Those of a thread that has ended go to
 * the next one that begins; none is ever freed.
 */
#ifndef QMPI_OWN_THREAD_H
#define QMPI_OWN_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct own_thread {
    const void *busy;          /* where on the stack the tool's work began; NULL: there is none */
    struct own_thread *outer;  /* the level whose work was interrupted; NULL: the first level */
    struct own_thread *deeper; /* NULL: not made yet */
    struct own_thread *next;   /* of all first levels */
    atomic_bool taken;         /* of a first level: by a thread that is alive */
};

/* This thread's present level; NULL: it has none yet. One pointer fits the room that the loader
 * keeps for such variables. */
extern _Thread_local struct own_thread *own_thread_level
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* To be called in `init`. `left` is given each level that a thread leaves behind; NULL: nothing is
 * to be done. Again: does nothing. */
void own_thread_start(size_t size, void (*left)(struct own_thread *level));

/* The level to be used where the present one is busy, or there is none; NULL: memory is out. */
struct own_thread *own_thread_find(const void *where);

/* Begins the tool's work for a call; NULL: memory is out. What is returned is own_thread_level.
 * `where`: of the call, on the stack. */
static inline struct own_thread *own_thread_enter_at(const void *where)
{
    struct own_thread *level = own_thread_level;
    if (__builtin_expect(!level || level->busy, 0) && !(level = own_thread_find(where)))
        return NULL;
    level->busy = where;
    atomic_signal_fence(memory_order_seq_cst);
    return level;
}

/* The same for whoever has nothing of the call's on the stack at hand. */
static inline struct own_thread *own_thread_enter(void)
{
    return own_thread_enter_at(__builtin_frame_address(0));
}

/* Ends it. `level` is what own_thread_enter gave, and may be NULL. */
static inline void own_thread_leave(struct own_thread *level)
{
    if (__builtin_expect(!level, 0))
        return;
    atomic_signal_fence(memory_order_seq_cst);
    level->busy = NULL;
    if (__builtin_expect(level->outer != NULL, 0))
        own_thread_level = level->outer;
}

/* Whether work of this thread was interrupted for the present one. */
static inline bool own_thread_interrupts(void)
{
    return own_thread_level && own_thread_level->outer;
}

#endif
