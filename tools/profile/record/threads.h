/* SPDX-License-Identifier: MIT */
/*
 * The tables in which a thread counts its calls, and the call sites in them. Each thread has its
 * own tables for each layer, so that counting a call takes no lock and no atomic read-modify-write
 * instruction. When a thread ends, the next new thread continues its tables. If a signal handler
 * interrupts the counting of a call, its own calls are counted in separate tables, as if another
 * thread made them. Times are in ticks (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_THREADS_H
#define QMPI_TOOL_PROFILE_RECORD_THREADS_H

#include "toolkit/toolkit.h"
#include "tools/profile/record/arch/figure.h"
#include "tools/profile/record/python.h"
#include "tools/profile/record/windows.h"
#include "tools/profile/result/profile.h"

#include <qmpi/observer.h>

/* The maximum of options.depth, which is the number of frames of a call site. */
enum { PROFILE_DEPTH_MAX = 32 };

/* The figures of calls of one kind in one thread. */
#define STATS_MEMBER(NAME, UNIT, COMBINE, HEADING, SINCE) uint64_t NAME;
struct thread_stats {
    uint64_t calls, time;
    PROFILE_FIGURES(STATS_MEMBER)
    uint64_t wait, sent, received;
};

/*
 * Calls are counted under a key: the number of the function, and the region node << 32. The time of
 * calls with CALL_APART is not part of the time in MPI, because they were made within another call
 * or outside application time. While profiling is off, regions_place returns a key with CALL_OFF,
 * which no site has, so that no site matches.
 */
enum { CALL_APART = 1 << 16, CALL_OFF = 1 << 17, CALL_NUMBER = CALL_APART - 1 };

static inline int thread_key_function(uint64_t key)
{
    return (int)(key & CALL_NUMBER);
}

static inline int thread_key_node(uint64_t key)
{
    return (int)(key >> 32);
}

/* There is a bin for every time, because it would take time in each call to check whether the time
 * exceeds the last bin of a result. When the result is made, the calls in the further bins are
 * added to its last bin. */
enum { THREAD_TIME_BINS = 64 };

/* Each row of a table begins with its key. A row of a function has no struct thread_stats, because
 * these figures are the sums over the call sites of the function. */
struct thread_function_row {
    uint64_t key; /* without CALL_APART */
    uint64_t sizes[PROFILE_SIZE_BINS];
    uint64_t times[THREAD_TIME_BINS]; /* see struct thread_site */
};

/* The time outside MPI before calls of one site that follow calls of another one. */
struct thread_outside {
    const struct thread_site *from; /* NULL: unknown */
    uint64_t time;
    struct thread_outside *next;
};

/*
 * A call site. It remembers the communicator, the datatype and the peer of its last call, because
 * the next call usually has the same.
 *
 * The time of a call is added to the bins of the function only by the next call of the site. Until
 * then it is in `last`. If the call added its own time, the address of the bin would depend on a
 * reading of the clock, and the processor does not read its clock again while the address of an
 * earlier store is unknown. `last` is 0 before the first call; to make up for this, the bin of 0
 * starts with one call too few.
 */
struct thread_site {
    struct thread_stats stats;
    uint64_t last;
    /* The number of messages minus the number of calls times traits_messages, modulo 2^64. */
    uint64_t more_messages;
    uint64_t comm;                        /* the handle of the last communicator */
    uint64_t changes;                     /* handles_changes when `comm` was looked up; 0: never */
    struct thread_object_row *row;        /* the figures of `comm` */
    struct thread_function_row *function; /* NULL: memory was exhausted */
    /* The key of this site, without the function. A call that ends as `end` says takes the fast
     * path (record.c) if calls are counted under this key when it ends. UINT64_MAX: calls of this
     * site never take the fast path. */
    uint64_t usual;
    struct thread_matrix_row *cell; /* messages sent to `peer` in `comm`; NULL: not known */
    uint64_t type, type_size;       /* the last predefined datatype, and its size; 0: none */
    uint64_t derived;               /* the last datatype that is not predefined; 0: none */
    int peer;
    signed char comm_argument; /* `comm` of struct traits */
    unsigned char end;         /* enum traits_end */
    /* The time outside MPI before calls of this site is in a list (see outside.h). `places` is its
     * first element. `place` points to the element that was used last, and `other` to the one
     * before. */
    struct thread_outside *place, *other, places;
};

/* Sites at which no call is made. thread_nowhere stands for the site of the last call of a thread
 * if the thread has made no call yet, or has ended. thread_unused is `from` of an element of a list
 * that is not used yet. */
extern const struct thread_site thread_nowhere, thread_unused __attribute__((visibility("hidden")));

/* A row of the table `sites`. The key consists of the key of the calls and of options.depth frames,
 * the caller first; frames that do not exist are 0. struct thread_site follows the key. `depth` is
 * always options.depth. */
#define SITE_SIZE(depth) ((1 + (depth)) * sizeof(uint64_t) + sizeof(struct thread_site))

static inline struct thread_site *thread_site_of(uint64_t *key, size_t depth)
{
    return (struct thread_site *)(void *)(key + 1 + depth);
}

static inline const uint64_t *thread_site_key(const struct thread_site *site, size_t depth)
{
    return (const uint64_t *)(const void *)site - 1 - depth;
}

/* Returns the bin of a number; there is one bin for each bit (see struct profile_function). In this
 * form, compilers compute it with a single instruction. */
static inline size_t thread_bin(uint64_t number)
{
    return 63 - (size_t)__builtin_clzll(number | 1);
}

static inline size_t thread_time_bin(uint64_t ticks)
{
    return thread_bin(ticks_nanoseconds(ticks));
}

struct thread_matrix_row {
    uint64_t key; /* the other rank in MPI_COMM_WORLD << 1 | whether this rank sends */
    uint64_t messages, bytes;
};
struct thread_object_row {
    uint64_t key; /* the number of the communicator or the file */
    struct thread_stats stats;
};

/* The time spent waiting for one peer at one call site (see waits.h). */
struct thread_wait_row {
    /* The address of the site in this thread's table, and the rank of the peer (-1: unknown). */
    uint64_t key[2];
    uint64_t calls, time;
    uint64_t last_call; /* the number of the last call that waited; used by the thread only */
};

/* The receives and sends that the returning call has completed. They are collected only if
 * `is_wanted`, that is, if the call may have waited for them. */
struct thread_completed {
    bool is_wanted;
    size_t count, room; /* numbers of elements of `peers`, and for which it has room */
    uint64_t bytes;     /* the sum over all operations */
    int *peers;         /* ranks in MPI_COMM_WORLD; -1: unknown */
    uint64_t calls;     /* the number of calls that have waited */
};

/* The processor usage of the thread when its last polling call was counted. It is known only if the
 * usage was measured then, which is done after a short pause between two polling calls. */
struct thread_polled_usage {
    bool is_known;
    long switches;  /* how often the thread had given up the processor voluntarily */
    int64_t worked; /* the processor time in microseconds */
};

enum { RECENT_SITES_BITS = 7 };

/* The calls of one thread on one layer. */
struct thread_profile {
    struct table functions, matrix, comms, files, sites, peer_waits;
    struct flights flights; /* the calls in progress; `data` of each is its struct thread_site */
    uint64_t ended;         /* the tick of the last end (outside.h) */
    struct windows windows; /* the time in MPI */
    struct thread_site *recent[1 << RECENT_SITES_BITS]; /* by a hash of the callers; never NULL */
    bool interrupts;   /* The calls counted here interrupt other work of the tool. */
    bool names_python; /* The first frame of a site may be a line of Python (see python.h). */
    struct thread_completed completed;
    struct thread_site *polled; /* the site of the last polling call (see add_polling) */
    uint64_t polled_tick;       /* the tick at which that call ended */
    struct thread_polled_usage polled_usage;
    bool polls_on;                   /* The last polling call found that nothing had completed. */
    uint64_t posted, arrived;        /* the numbers of receives posted, and seen to complete */
    struct handle_leavings leavings; /* the handles that calls in progress are freeing */
    bool is_deeper; /* This is not the first level, so it does not count as a thread. */
    struct thread_profile *next; /* of the same layer */
};

/* The tables of one level of one thread, by layer (see toolkit/thread_state.h). */
struct thread_row {
    struct thread_level level;
    struct thread_profile *by_layer[256]; /* [tool_id]; NULL: not made yet */
};

/* Prepares this file's data. Call it in `init`, before the first call is counted. */
void threads_start(void);

/* Tells the user, once in a process, that calls are missing because memory is exhausted. */
void threads_out_of_memory(int tool_id);

/* Makes the tables of the current level of this thread for a layer. `depth` is options.depth.
 * Returns NULL if memory is exhausted, which is reported once. */
struct thread_profile *threads_add(int tool_id, int depth);

/* Returns the tables of the level that thread_level_enter has returned, and makes them if needed.
 * Returns NULL if memory is exhausted. */
static inline struct thread_profile *threads_at(const struct thread_level *level, int tool_id,
                                                int depth)
{
    const struct thread_row *row = (const struct thread_row *)level;
    struct thread_profile *thread = row ? row->by_layer[tool_id] : NULL;
    return __builtin_expect(thread != NULL, 1) ? thread : threads_add(tool_id, depth);
}

/* Does the same for the current level. Call this between thread_level_enter and
 * thread_level_leave. */
static inline struct thread_profile *threads_self(int tool_id, int depth)
{
    return threads_at(thread_level_current, tool_id, depth);
}

/* Returns the first of the threads of a layer; `next` leads to the others. Any thread may call this
 * at any time, without a lock. Threads are never removed. */
struct thread_profile *threads_first(int tool_id);

/* Returns the number of calls that were counted in a layer, except those of MPI_Session_finalize.
 * `depth` is options.depth. Any thread and any signal handler may call this. */
uint64_t threads_count_calls(int tool_id, int depth);

/* Counts a call of `time` ticks. Other threads may read the figures meanwhile (see figure_add).
 * `shortest` and `longest` are both 0 before the first call, which therefore either exceeds
 * `longest` or is 0 itself. The call must no longer be published as in progress
 * (toolkit/flights.h), so that no reader sees it both counted and in progress. */
static inline void thread_count_call(struct thread_stats *stats, uint64_t time)
{
    if (__builtin_expect(time < stats->shortest, 0))
        __atomic_store_n(&stats->shortest, time, __ATOMIC_RELAXED);
    if (__builtin_expect(time > stats->longest, 0)) {
        __atomic_store_n(&stats->longest, time, __ATOMIC_RELAXED);
        if (!stats->calls)
            __atomic_store_n(&stats->shortest, time, __ATOMIC_RELAXED);
    }
    figure_add(&stats->calls, 1);
    figure_add(&stats->time, time);
}

/* Adds `more` to `sum`. Other threads may write `more` meanwhile. */
void thread_stats_add(struct thread_stats *sum, const struct thread_stats *more);

/* ---- Call sites ------------------------------------------------------------------------------
 * A call site is the place in the program that makes a call, given by options.depth frames.
 */

/* Returns this thread's figures for calls with this key from the place that made `call`, and adds
 * them if there are none. Returns NULL if memory is exhausted. */
struct thread_site *thread_site_find(struct thread_profile *thread, uint64_t key,
                                     const QMPIX_Call *call, int depth);

/* Returns this thread's figures for calls with another key from the same place as `site`, which may
 * belong to another thread. Returns NULL if memory is exhausted. */
struct thread_site *thread_site_find_same(struct thread_profile *thread, uint64_t key,
                                          const struct thread_site *site, int depth);

/* Finds the place that made a call: `depth` return addresses, the caller first. Frames that do not
 * exist are NULL. With `names_python`, see python_find_callers; `depth` is then at least 2. */
static inline void thread_site_find_callers(const QMPIX_Call *call, void **callers, size_t depth,
                                            bool names_python)
{
    int count = 1;
    if (depth == 1) {
        QMPIX_Call_get_caller(call, callers);
    } else if (names_python) {
        python_find_callers(call, callers, depth);
        return;
    } else {
        QMPIX_Call_get_callers(call, (int)depth, callers, &count);
    }
    for (size_t i = (size_t)count; i < depth; i++)
        callers[i] = NULL;
}

static inline struct thread_site **thread_site_recent_place(struct thread_profile *thread,
                                                            void *const *callers, size_t depth)
{
    uint64_t hash = (uint64_t)(uintptr_t)callers[0];
    for (size_t i = 1; i < depth; i++)
        hash = (hash << 7 | hash >> 57) ^ (uint64_t)(uintptr_t)callers[i];
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return &thread->recent[hash >> (64 - RECENT_SITES_BITS)];
}

/* Returns what thread_site_find would return, if it has found the site recently and the function
 * has the trait `begins_simply`. Otherwise returns NULL. */
static inline struct thread_site *thread_site_find_recent(struct thread_profile *thread,
                                                          uint64_t key, void *const *callers,
                                                          size_t depth)
{
    struct thread_site *site = *thread_site_recent_place(thread, callers, depth);
    const uint64_t *words = thread_site_key(site, depth);
    if (words[0] != key)
        return NULL;
    for (size_t i = 0; i < depth; i++) {
        if (words[1 + i] != (uint64_t)(uintptr_t)callers[i])
            return NULL;
    }
    return site;
}

#endif
