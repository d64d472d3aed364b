/* SPDX-License-Identifier: MIT */
/* What the writer of a layer knows, and what all threads may do with it. */
#ifndef QMPI_TOOL_TRACE_WRITE_STATE_H
#define QMPI_TOOL_TRACE_WRITE_STATE_H

#include "trace/trace.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct chunk;
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
    atomic_bool has_failed;        /* nothing more is written */
    char *problem;                 /* why */
    _Atomic uint64_t bytes;        /* that the file has */
    _Atomic uint64_t events;       /* in it */
    uint64_t alive;                /* when it was last said that the process runs, ticks; where: */
    uint64_t alive_at, alive_size; /* in the file */
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

/* There is something to do. Any thread, also in a signal handler. */
static inline void writer_wake(struct writer *writer)
{
    sem_post(&writer->work);
}

/* Whether chunks that are handed over are going to be given back. */
static inline bool writer_writes(const struct writer *writer)
{
    return atomic_load(&writer->runs) && !atomic_load(&writer->has_ended);
}

struct definition;
struct definitions {
    struct definition *_Atomic added; /* the last one first */
    const char **libraries;           /* the writer's: that have been defined; by index */
    uint32_t library_count;
    uint16_t *functions; /* [number]: index + 1 of those that have been defined */
    uint32_t function_count;
    uint32_t location_count; /* all below this have been defined */
};

#endif
