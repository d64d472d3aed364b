/* SPDX-License-Identifier: MIT */
/*
 * What each thread notes, for itself and for each layer, so that the path of a call has no lock and
 * no atomic instruction. A thread that ends leaves its notes, and the next one that begins goes on
 * in them. Times are in ticks (clock.h).
 */
#ifndef QMPI_PROFILE_THREADS_H
#define QMPI_PROFILE_THREADS_H

#include "hash_table.h"
#include "options.h"
#include "result.h"

struct layer;

/* Calls of one kind, as one thread saw them. */
struct stats {
    uint64_t calls, time, shortest, longest, wait, sent, received;
};

/* Rows of the tables; first the key. */
struct function_row {
    uint64_t key; /* region node << 32 | function number */
    struct stats stats;
    uint64_t no_bytes, sizes[PROFILE_SIZE_BINS], times[PROFILE_TIME_BINS];
};

/* Of a call site the key is the function's number and options.depth frames, the caller first; 0: no
 * more. Its numbers lie behind them. */
#define SITE_SIZE(depth) ((1 + (depth)) * sizeof(uint64_t) + sizeof(struct stats))

static inline struct stats *site_stats(uint64_t *site, size_t depth)
{
    return (struct stats *)(void *)(site + 1 + depth);
}

struct cell_row {
    uint64_t key; /* the other rank << 1 | whether this rank sends */
    uint64_t messages, bytes;
};
struct numbered_row {
    uint64_t key; /* number of the communicator or the file */
    struct stats stats;
};
struct node_row {
    uint64_t key; /* region node */
    uint64_t mpi; /* time in MPI, a call from within a call once */
};

/* A call under way that gives a communicator or a file back. */
struct leaving {
    const void *word; /* its QMPIX_Word */
    uint64_t handle;
    int number;
    bool is_file;
};
enum { LEAVING_MAX = 8 };

struct thread {
    struct table functions, cells, comms, files, nodes, sites;
    struct function_row *recent[MPI_LAST_FUNC]; /* where a function was noted last */
    struct node_row *recent_node;
    const void *outermost;    /* the QMPIX_Word of the call under way, not of one from within it */
    uint64_t outermost_begin; /* and its number */
    uintptr_t stack, stack_end; /* of this thread; 0: not asked for yet */
    const void *waited;         /* the QMPIX_Word of the call that `wait` is of */
    uint64_t wait;
    struct leaving leaving[LEAVING_MAX];
    int leaving_count;
    struct thread *next; /* of the same layer */
};

/* The tables of one thread, by layer; see threads_self. */
struct thread_row {
    struct thread *by_layer[256];
    struct thread_row *next_free;
};

/* One pointer fits the room that the loader keeps for such variables. */
extern _Thread_local struct thread_row *threads_row __attribute__((tls_model("initial-exec")));

/* Says, once in a process, that calls are missing. */
void threads_out_of_memory(int tool_id);

/* Makes this thread's notes for a layer; NULL: memory is out, which is said once. */
struct thread *threads_add(int tool_id, int depth);

static inline struct thread *threads_self(int tool_id, int depth)
{
    struct thread *thread = threads_row ? threads_row->by_layer[tool_id] : NULL;
    return __builtin_expect(thread != NULL, 1) ? thread : threads_add(tool_id, depth);
}

/* Whether both addresses lie on the stack of this thread, whose notes they are: the one that is
 * higher than a live one can be read then. */
bool threads_have_on_stack(struct thread *thread, const void *one, const void *other);

/* All threads' notes for a layer; follow `next`. Any thread, without a lock. */
struct thread *threads_first(int tool_id);

/* Notes are read by others while this thread writes them: each word at once. */
static inline void note_add(uint64_t *word, uint64_t more)
{
    __atomic_store_n(word, *word + more, __ATOMIC_RELAXED);
}

static inline void note_call(struct stats *stats, uint64_t time)
{
    if (time < stats->shortest || !stats->calls)
        __atomic_store_n(&stats->shortest, time, __ATOMIC_RELAXED);
    if (time > stats->longest)
        __atomic_store_n(&stats->longest, time, __ATOMIC_RELAXED);
    note_add(&stats->calls, 1);
    note_add(&stats->time, time);
}

/* Adds what another thread, or another communicator, noted. */
void stats_add(struct stats *sum, const struct stats *more);

#endif
