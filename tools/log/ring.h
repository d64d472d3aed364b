/* SPDX-License-Identifier: MIT */
/*
 * The memory that a process and the program that writes its lines (writer.c) share. Each level of a
 * thread (toolkit/thread_state.h) has a ring, to which it alone adds: nobody waits for a lock, and
 * a signal handler that interrupts the work on a ring has another one. A line is there as soon as
 * the ring's head is moved behind it, so what a longjmp, the end of a thread or SIGKILL interrupts
 * is there as a whole or not at all.
 */
#ifndef QMPI_TOOL_LOG_RING_H
#define QMPI_TOOL_LOG_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RING_SIZE = 256 * 1024, RING_COUNT = 256 };

/* In front of each line, at multiples of its size. */
struct record {
    uint64_t number; /* of all lines of the process, in the order of their ends */
    uint32_t length; /* RECORD_NONE: the ring goes on at its beginning */
    uint32_t unused;
};
#define RECORD_NONE UINT32_MAX

/* Positions only grow; where they lead to is their remainder. */
struct ring {
    _Alignas(64) _Atomic uint64_t head; /* moved by the thread that adds lines */
    _Alignas(64) _Atomic uint64_t tail; /* all before it is written; moved by who writes */
    uint64_t next;                      /* of who writes */
    _Alignas(64) char bytes[RING_SIZE];
};

enum {
    WRITER_WORKS,
    WRITER_PAUSES, /* some 100 ms; to be woken for a ring that is half full */
    WRITER_SLEEPS, /* to be woken for each line */
    WRITER_GONE    /* the process writes its lines itself */
};

struct shared {
    atomic_uint state;    /* futex: WRITER_… */
    atomic_uint writer;   /* futex: 0: not there yet; FUTEX_OWNER_DIED: gone (set by the kernel) */
    atomic_uint asked;    /* how often all lines were asked for … */
    atomic_uint done;     /* … and how often that was done. futex */
    atomic_bool draining; /* by the process itself */
    _Alignas(64) _Atomic uint64_t number; /* of the next line */
    _Alignas(64) atomic_int rings;        /* that are in use */
    struct ring ring[RING_COUNT];
};

/* Waits while the word has the value, at most so long; and wakes all who do. */
void ring_wait(atomic_uint *word, unsigned value, long milliseconds);
void ring_wake(atomic_uint *word);

/* Whether a ring has so many bytes that are not written. */
bool ring_has(struct shared *shared, uint64_t least);

/*
 * Writes all lines that are there, in order, with a whole number of lines for each system call. A
 * line that cannot be written is lost, as after a failed write by the process itself. Only one may
 * do this at a time. Returns whether there was a line. Safe in a signal handler.
 */
bool ring_drain(struct shared *shared, int descriptor);

#endif
