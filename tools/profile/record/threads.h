/* SPDX-License-Identifier: MIT */
/*
 * What each thread notes, for itself and for each layer, so that the path of a call has no lock and
 * no atomic instruction. A thread that ends leaves its notes, and the next one that begins goes on
 * in them. Calls that interrupt the noting of another one (a signal's handler made them) have notes
 * of their own, as if they were another thread's. Times are in ticks (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_THREADS_H
#define QMPI_TOOL_PROFILE_RECORD_THREADS_H

#include "options.h"
#include "profile/profile.h"
#include "record/arch/add.h"
#include "record/windows.h"
#include "toolkit/toolkit.h"

struct layer;

/* Calls of one kind, as one thread saw them. */
#define STATS_MEMBER(NAME, UNIT, COMBINE, HEADING, SINCE) uint64_t NAME;
struct stats {
    uint64_t calls, time;
    PROFILE_FIGURES(STATS_MEMBER)
    uint64_t wait, sent, received;
};

/*
 * Calls are noted under a key: the function's number and the region node << 32. The time of calls
 * with CALL_APART is not part of the time in MPI: they were made within another call, or outside of
 * application time. CALL_OFF is in no key: while profiling is off, what calls are noted under is
 * not that of any site.
 */
enum { CALL_APART = 1 << 16, CALL_OFF = 1 << 17, CALL_NUMBER = CALL_APART - 1 };

static inline int call_key_number(uint64_t key)
{
    return (int)(key & CALL_NUMBER);
}

static inline int call_key_node(uint64_t key)
{
    return (int)(key >> 32);
}

/* Rows of the tables; first the key. What calls of a function cost is the sum over its sites. */
struct function_row {
    uint64_t key; /* without CALL_APART */
    uint64_t sizes[PROFILE_SIZE_BINS];
    uint64_t times[PROFILE_TIME_BINS]; /* see struct site */
};

/* How most calls of a site end, which need not be looked at as a whole. */
enum site_end {
    SITE_ENDS_PLAINLY, /* they carry nothing */
    SITE_SENDS,        /* one message: see message.h */
    SITE_RECEIVES
};

/*
 * A call site, and the communicator, the datatype and the peer of its last call: they most often
 * are the next one's, too.
 *
 * The time of its last call is not in the function's bins: it is put there by the next one. Before
 * the first call `last` is 0, and the bin of 0 has one call too few. The processor does not read
 * its clock while it waits for the address of an earlier store; that of a bin would depend on the
 * reading before.
 */
struct site {
    struct stats stats;
    uint64_t last;
    uint64_t more_messages;        /* than its calls times traits_messages; modulo 2^64 */
    uint64_t comm;                 /* handle */
    uint64_t changes;              /* handles_changes when it was looked up; 0: never */
    struct numbered_row *row;      /* of that communicator */
    struct function_row *function; /* NULL: memory was out */
    uint64_t usual;                /* what calls are noted under, but for their function, where they
                                      end as `end` says; UINT64_MAX: nowhere */
    struct matrix_row *cell;       /* of what is sent to `peer` in that communicator; NULL: none */
    uint64_t type, type_size;      /* a predefined datatype, and its size; 0: none */
    uint64_t derived;              /* one that is not predefined; 0: none */
    int peer;
    signed char comm_argument; /* see struct traits */
    unsigned char end;         /* enum site_end */
};

/* The key of a call site is that of its calls and options.depth frames, the caller first; 0: no
 * more. The site lies behind them. */
#define SITE_SIZE(depth) ((1 + (depth)) * sizeof(uint64_t) + sizeof(struct site))

static inline struct site *site_of(uint64_t *key, size_t depth)
{
    return (struct site *)(void *)(key + 1 + depth);
}

/* And the key again. */
static inline const uint64_t *site_key(const struct site *site, size_t depth)
{
    return (const uint64_t *)(const void *)site - 1 - depth;
}

/* The bin of a number among `bins`: see profile_function. */
static inline unsigned note_bin(uint64_t number, unsigned bins)
{
    const unsigned bin = 63U ^ (unsigned)__builtin_clzll(number | 1);
    return bin < bins ? bin : bins - 1;
}

static inline unsigned note_time_bin(uint64_t ticks)
{
    return note_bin(ticks_nanoseconds(ticks), PROFILE_TIME_BINS);
}

struct matrix_row {
    uint64_t key; /* the other rank << 1 | whether this rank sends */
    uint64_t messages, bytes;
};
struct numbered_row {
    uint64_t key; /* number of the communicator or the file */
    struct stats stats;
};

/* How long was waited for a peer at a call site: see peer_waits.h. */
struct peer_wait_row {
    uint64_t key[2]; /* address of the site in this thread's table; rank of the peer, -1: unknown */
    uint64_t calls, time;
};

/* The receives and sends that a call under way has completed, if it may have waited for them. */
enum { COMPLETED_MAX = 32 };
struct completed {
    bool is_wanted;
    int count;
    uint64_t bytes;
    int peers[COMPLETED_MAX]; /* ranks in MPI_COMM_WORLD; -1: unknown */
};

enum { RECENT_SITES_BITS = 7 };

struct thread {
    struct table functions, matrix, comms, files, sites, peer_waits;
    struct flights flights;                      /* the calls under way */
    struct windows windows;                      /* the time in MPI */
    struct site *recent[1 << RECENT_SITES_BITS]; /* by callers; never NULL */
    bool interrupts;                             /* notes of calls that interrupt others' noting */
    struct completed completed;
    struct site *polled;      /* where it last asked for something: see note_polling */
    uint64_t polled_tick;     /* at which that call ended */
    uint64_t posted, arrived; /* receives that calls posted, and that were seen to complete */
    struct leavings leavings;
    bool is_deeper; /* of calls that interrupt the noting of another one: no thread of its own */
    struct thread *next; /* of the same layer */
};

/* The notes of one level of one thread, by layer; see toolkit/thread_state.h. */
struct thread_row {
    struct thread_level level;
    struct thread *by_layer[256];
};

/* To be called in `init`. */
void threads_start(void);

/* Says, once in a process, that calls are missing. */
void threads_out_of_memory(int tool_id);

/* Makes the present level's notes for a layer; NULL: memory is out, which is said once. */
struct thread *threads_add(int tool_id, int depth);

/* The notes of the present level, which thread_level_enter gave. */
static inline struct thread *threads_at(const struct thread_level *level, int tool_id, int depth)
{
    const struct thread_row *row = (const struct thread_row *)level;
    struct thread *thread = row ? row->by_layer[tool_id] : NULL;
    return __builtin_expect(thread != NULL, 1) ? thread : threads_add(tool_id, depth);
}

/* Between thread_level_enter and thread_level_leave. */
static inline struct thread *threads_self(int tool_id, int depth)
{
    return threads_at(thread_level_current, tool_id, depth);
}

/* All threads' notes for a layer; follow `next`. Any thread, without a lock. */
struct thread *threads_first(int tool_id);

/* Notes are read by others while this thread writes them: see note_add. A call that is seen in its
 * notes is not seen under way. Without calls both limits are 0, so that the first call exceeds the
 * upper one or is equal to both.
 */
static inline void note_call(struct stats *stats, uint64_t time)
{
    if (__builtin_expect(time < stats->shortest, 0))
        __atomic_store_n(&stats->shortest, time, __ATOMIC_RELAXED);
    if (__builtin_expect(time > stats->longest, 0)) {
        __atomic_store_n(&stats->longest, time, __ATOMIC_RELAXED);
        if (!stats->calls)
            __atomic_store_n(&stats->shortest, time, __ATOMIC_RELAXED);
    }
    note_add(&stats->calls, 1);
    note_add(&stats->time, time);
}

/* Adds what another thread, or another communicator, noted. */
void stats_add(struct stats *sum, const struct stats *more);

#endif
