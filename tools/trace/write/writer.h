/* SPDX-License-Identifier: MIT */
/*
 * The thread that writes: it takes the chunks that threads have handed over, translates what is in
 * them, and writes it to the file of the process. It makes no MPI call, and takes no signal. What
 * is in chunks that are not full is written after a second, so that a process that is killed leaves
 * nearly everything.
 */
#ifndef QMPI_TOOL_TRACE_WRITE_WRITER_H
#define QMPI_TOOL_TRACE_WRITE_WRITER_H

#include "trace/trace.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct chunk;
struct layer;
struct stream;

struct writer {
    pthread_t thread;
    atomic_bool runs;
    sem_t work;              /* something is to be done */
    atomic_bool is_sleeping; /* it waits for that */
    char *path;              /* of the file */
    char *mpi;               /* see process_mpi; and */
    atomic_bool has_world;   /* the rank is known, and not written yet */
    int descriptor;
    atomic_bool has_failed;  /* nothing more is written */
    char *problem;           /* why */
    _Atomic uint64_t bytes;  /* that the file has */
    _Atomic uint64_t events; /* in it */
    struct trace_bytes records, out;
    struct stream **streams; /* [location]: that of the thread, then those of its signal handlers */
    uint32_t stream_count;
    struct chunk *ring, **ring_end; /* buffer=ring: chunks that are kept, the oldest first */
    struct chunk *done;             /* to be given back */
    atomic_bool saves;              /* it is to write what is in the ring */
    /* The end: */
    atomic_int end;         /* enum trace_end; TRACE_END_NONE: not yet */
    const char *end_detail; /* "SIGTERM" */
    uint64_t end_ticks;
    atomic_bool has_ended; /* the file is complete */
    int64_t begin, stop;   /* CLOCK_MONOTONIC, ns, of begin= and end=; 0: none */
};

/* In `init`. */
void writer_make(struct layer *layer);

/* Begins to write to a file, which it creates or replaces. False: it cannot, and has said why. */
bool writer_start(struct layer *layer, const char *path);

/* Whether chunks that are handed over are going to be given back. */
bool writer_writes(const struct writer *writer);

/* There is something to do. Any thread, also in a signal handler. */
void writer_wake(struct writer *writer);

/* Writes all that has been recorded, and the end of the file; waits for that, at most for some
 * `seconds`. Also in a signal handler. False: it is not complete, or nothing has been written. */
bool writer_finish(struct layer *layer, enum trace_end end, const char *detail, int seconds);

#endif
