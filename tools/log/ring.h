/* SPDX-License-Identifier: MIT */
/*
 * A process shares this memory with the program that writes its lines (writer.c). Each level of a
 * thread (toolkit/thread_state.h) has a ring to which it alone adds lines, so nobody waits for a
 * lock, and a signal handler that interrupts the work on a ring uses another ring. A line becomes
 * visible when the head of the ring moves past it. Therefore, if longjmp, the end of a thread or
 * SIGKILL interrupts the work, a line is visible either completely or not at all.
 */
#ifndef QMPI_TOOL_LOG_RING_H
#define QMPI_TOOL_LOG_RING_H

#include "tools/log/prefix.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RING_SIZE = 256 * 1024, RING_COUNT = 256 };
enum { RING_CALLS = 512, RING_CALL_TEXT = 3584, RING_CALL_CALLER = 200 };

/* A record precedes each line. Its offset in the ring is a multiple of its size. */
struct ring_record {
    uint64_t number; /* position of the line among all lines of the process, in the order in which
                        they are added */
    uint32_t length; /* RECORD_NONE if the next record is at the beginning of the ring */
    uint32_t unused;
};
#define RECORD_NONE UINT32_MAX

/* Positions in a ring only grow. Their remainder modulo RING_SIZE is the offset in `bytes`. */
struct ring {
    /* The thread that adds lines stores the head when a line is complete, and then loads `state`.
     * The writer stores `state`, and then loads the head. These accesses are sequentially
     * consistent, so that either the thread sees that it must wake the writer, or the writer sees
     * the line. When it reads lines, the writer loads the head with acquire order. */
    _Alignas(64) _Atomic uint64_t head;
    /* All lines before the tail are written. The writing side, which is the writer or, if the
     * writer is gone, the process, stores the tail with release order after it has read these
     * lines. The thread loads it with acquire order before it overwrites them. */
    _Alignas(64) _Atomic uint64_t tail;
    uint64_t next; /* next record to write; used by the writing side only */
    _Alignas(64) char bytes[RING_SIZE];
};

enum {
    WRITER_WORKS,
    WRITER_PAUSES, /* Pauses for about 100 ms; must be woken when a ring is half full. */
    WRITER_SLEEPS, /* Sleeps; must be woken for each line. */
    WRITER_GONE    /* Is gone, so that the process writes its lines itself. */
};

/*
 * A call in progress. The thread that makes the call fills in the other members before it sets
 * `is_open`. The writer reads them only after the process is gone, when no thread changes them any
 * more; so only the order in the program matters.
 */
struct ring_call {
    atomic_bool is_open;
    atomic_int ring;       /* the line of the call that has returned is in this ring, ... */
    _Atomic uint64_t head; /* ... if the ring's head has reached this position */
    struct prefix prefix;  /* with the number of the thread, even if it is the only one */
    int depth;             /* number of enclosing calls */
    uint32_t length, caller_length;
    char text[RING_CALL_TEXT]; /* "MPI_Send(buf=…" */
    char caller[RING_CALL_CALLER];
};

/* What the process itself would write about its end. */
enum {
    PHASE_BEFORE, /* MPI is not initialized: nothing, unless calls are in progress */
    PHASE_MPI,    /* the calls in progress, and a last line */
    PHASE_OVER    /* Nothing: MPI is finalized, or the process has written these lines. */
};

struct ring_shared {
    atomic_uint state; /* WRITER_…; used as a futex */
    /* This futex is 0 until the writer has started. The kernel adds FUTEX_OWNER_DIED when the
     * writer is gone. */
    atomic_uint writer;
    atomic_uint asked;    /* number of requests to write all lines */
    atomic_uint done;     /* last request that was fulfilled; used as a futex */
    atomic_bool draining; /* the process itself is writing its lines */
    /* The errno of a failed write, after which no line is written, or 0 if none has failed. */
    atomic_int error;
    /* The number of the next line. A thread takes a number after all lines that happened before its
     * line are in their rings: its own earlier ones, and those of threads with which it has
     * synchronized since. The writer loads the number before it loads the heads. Therefore, if it
     * finds a line with a number below the loaded one, it also finds all lines that happened before
     * this line. */
    _Alignas(64) _Atomic uint64_t number;
    _Alignas(64) atomic_int rings; /* number of rings in use */
    atomic_int phase;              /* PHASE_… */
    atomic_int threads;            /* number of threads that have made calls */
    int64_t start;        /* the value of CLOCK_MONOTONIC when the log began, in nanoseconds */
    struct prefix prefix; /* of the last line */
    struct ring_call call[RING_CALLS];
    struct ring ring[RING_COUNT];
};

/* ring_wait waits while the word has the value, for the given time at most. ring_wake wakes all
 * threads and processes that wait for the word. */
void ring_wait(atomic_uint *word, unsigned value, long milliseconds);
void ring_wake(atomic_uint *word);

/* Returns whether any ring has at least `least` bytes that are not written. */
bool ring_has(struct ring_shared *shared, uint64_t least);

/*
 * Writes all lines in the rings in order. Each system call is given whole lines, as many as
 * possible. A failure is stored in `error`, and no lines are written from then on, so that no line
 * is missing before the last line in the file. Only one thread or process may call this function at
 * a time, and it must have blocked the signals that a write may cause. Returns whether there was a
 * line. This function is safe in a signal handler.
 */
bool ring_drain(struct ring_shared *shared, int descriptor);

/* Writes a line that is in no ring, unless a line was lost. */
void ring_write(struct ring_shared *shared, int descriptor, const char *bytes, size_t length);

#endif
