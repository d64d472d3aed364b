/* SPDX-License-Identifier: MIT */
/*
 * The data of one layer of trace: its options, whether it records, the objects and requests of the
 * program, the memory that threads record in, and the state of the thread that writes.
 */
#ifndef QMPI_TOOL_TRACE_LAYER_H
#define QMPI_TOOL_TRACE_LAYER_H

#include "toolkit/toolkit.h"
#include "tools/trace/export/trace.h"
#include "tools/trace/record/traits.h"
#include "util/util.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_SITE_FRAMES_MAX = 32 }; /* frames of a call site */

/* The format that is written in MPI_Finalize, besides the files of the processes. */
enum trace_format { FORMAT_OTF2, FORMAT_PERFETTO, FORMAT_PROCESS_FILES };

struct layer_options {
    const char *output; /* pattern of the directory's name */
    enum trace_format format;
    uint64_t memory;  /* bytes for what is recorded and not written */
    bool drops;       /* full=drop */
    bool is_ring;     /* buffer=ring */
    uint64_t history; /* keep=: nanoseconds; 0: as long as there is memory */
    int save_signal;  /* 0: none */
    bool sites;
    int depth; /* frames of a call site */
    bool compress;
    unsigned char chosen[MPI_LAST_FUNC]; /* functions=; 0: not */
    bool all_chosen;
    struct qmpi_value_set ranks;
    const char *regions;  /* globs; NULL: not given */
    uint64_t begin, end;  /* nanoseconds after MPI_Init; end is UINT64_MAX: not given */
    const char *counters; /* globs; NULL: none */
    uint64_t interval;    /* of counters, nanoseconds */
};

/* Reasons why a layer does not record: bits. */
enum layer_off {
    LAYER_OFF_DISABLED = 1 << 0, /* it is switched off */
    LAYER_OFF_PCONTROL = 1 << 1, /* MPI_Pcontrol(0) */
    LAYER_OFF_RANK = 1 << 2,     /* ranks= excludes this rank */
    LAYER_OFF_REGION = 1 << 3,   /* no region of regions= is open */
    LAYER_OFF_BEGIN = 1 << 4,    /* begin= has not come yet */
    LAYER_OFF_END = 1 << 5,      /* end= has passed */
    LAYER_OFF_CLOSED = 1 << 6,   /* MPI_Finalize was called, or the process ends */
    LAYER_OFF_CHILD = 1 << 7,    /* this is a forked child */
    LAYER_OFF_FAILED = 1 << 8    /* there is no file to write to */
};

struct layer_switches {
    _Atomic uint64_t state; /* grows with each change; odd: the layer records */
    uint64_t off;           /* LAYER_OFF_… */
    uint64_t ticks[2];      /* of the last change to off, to on */
};

/* The program's communicators, windows and files: see record/objects.h. */
enum layer_object_kind { OBJECT_COMM, OBJECT_WINDOW, OBJECT_FILE, OBJECT_KINDS };
struct layer_objects {
    struct handles handles[OBJECT_KINDS]; /* communicators: by the words of the program's handles */
    uint32_t counts[OBJECT_KINDS];
    uint32_t *window_comms; /* [index of the window]: index of its communicator + 1; 0: not known */
    size_t window_room;
    MPI_Group world; /* of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL: not known */
};

/* Call sites in buckets that only grow: see record/objects.h. */
enum { LAYER_SITE_BUCKET_BITS = 12 };
struct layer_sites {
    struct site *_Atomic *buckets;
    atomic_uint count;
};

/* Definitions that threads have added, and those that the file has: see
 * record/objects.h. The members after the first one are the writer's. */
struct layer_definitions {
    struct record_definition *_Atomic added; /* the last one first */
    const char **libraries;                  /* defined ones, by index */
    size_t library_room;
    uint32_t library_count;
    uint16_t *functions; /* [number]: index + 1 of a defined function; 0: not defined yet */
    uint32_t function_count;
};

/* The thread that writes the file of the process: see write/writer.h. */
enum { LAYER_WRITER_RESERVED = 8 };
struct layer_writer {
    atomic_bool runs;
    sem_t work; /* posted when there is something to do */
    char *path; /* of the file */
    char *mpi;  /* version of the MPI library, for a file that was begun before MPI_Init */
    atomic_bool has_world; /* the rank is known, and not yet written to such a file */
    struct qmpi_output output;
    int locked;                              /* descriptor by which the file is locked */
    bool has_said;                           /* a message has said that it cannot be written */
    int reserved[LAYER_WRITER_RESERVED];     /* descriptors; -1: none */
    atomic_bool has_failed;                  /* nothing more is written */
    _Atomic uint64_t bytes;                  /* size of the file */
    _Atomic uint64_t events;                 /* in it */
    uint64_t alive;                          /* ticks of the last sign of life in the file, */
    uint64_t alive_at, alive_size;           /* its position and size */
    struct trace_bytes new_definitions, out; /* to be written: also blocks */
    struct translator **translators; /* [location]: of the thread, then of its signal handlers */
    size_t location_room;
    struct record_chunk *ring, **ring_end; /* buffer=ring: chunks that are kept, the oldest first */
    struct record_chunk *done;             /* to be given back */
    atomic_bool saves;                     /* it is to write the ring */
    atomic_int end;                        /* enum trace_process_end; TRACE_END_NONE: not yet */
    const char *end_detail;                /* "SIGTERM" */
    uint64_t end_ticks;
    atomic_bool has_ended; /* the file is complete */
    int64_t begin, stop;   /* CLOCK_MONOTONIC, ns, of begin= and end=; 0: none */
};

struct layer {
    int tool_id;
    bool (*start_early)(struct layer *layer); /* save_start_early, which recorder.c cannot call */
    struct layer_options options;
    struct tool_output output;
    char *directory;       /* of the trace; absolute if possible */
    char *first_directory; /* the one of `init` */
    int rank, ranks;       /* in MPI_COMM_WORLD (mpi://WORLD); TRACE_UNDEFINED, 0: not known */
    int launcher_rank;     /* before MPI_Init; -1: not known */
    uint64_t run[2];       /* identifies the run: the same in all processes */
    int64_t started;       /* nanoseconds since the Epoch at start_ticks */
    uint64_t start_ticks;
    uint64_t init_ticks, finalize_ticks; /* when the clocks were compared; 0: never */
    /* MPI_Finalize while it is in progress and the trace is not complete; NULL at other times. */
    struct recorder *finalizer;
    const QMPIX_Word *finalize_word;
    atomic_uchar ends[MPI_LAST_FUNC]; /* [number]: enum call_end of record/observe.c */
    atomic_bool opens_calls;          /* calls are opened before they are carried out */
    struct layer_switches switches;
    atomic_uint omits;                  /* TRACE_OMITS_… */
    bool has_failed_early;              /* start_early has failed */
    bool has_started;                   /* the processes have agreed on the directory */
    bool has_no_directory;              /* no process of the run can write there */
    atomic_bool finished;               /* the file is complete, or will be */
    struct record_pool *pool;           /* record/recorder.h */
    struct recorder *_Atomic recorders; /* of all threads */
    atomic_uint locations;              /* numbers that were given to threads */
    _Atomic uint64_t requests;          /* numbers that were given to recorders */
    _Atomic uint64_t dropped;           /* records */
    pthread_mutex_t lock;               /* of objects and regions; no MPI call under it */
    struct layer_objects objects;
    struct regions *regions;   /* record/control.c */
    struct counters *counters; /* record/counters.c */
    struct pending_table operations, messages;
    _Atomic uint64_t operation_order; /* of the last operation */
    _Atomic uint64_t epoch;           /* grows when completions may have been missed */
    struct layer_sites sites;
    struct layer_definitions definitions;
    struct tool_world_sessions sessions;
    struct layer_writer writer;
    struct layer *next;
};

/* All layers of this process, the lowest last. */
extern struct layer *layer_list;

/* Adds a layer, and makes this process the one that records. */
void layer_add(struct layer *layer);

/* Whether this process records: a forked child does not. */
bool layer_is_in_owner(void);

/* To be called in `init`, with the reasons LAYER_OFF_… that there are then. */
void layer_set_first_off(struct layer *layer, uint64_t off);

/* Adds a reason LAYER_OFF_…, or removes it. Each thread notices a change with its next call: see
 * record/call_events.h. Any thread. */
void layer_set_off(struct layer *layer, uint64_t reason, bool is_there);

/* Whether the layer records now. */
static inline bool layer_is_on(const struct layer *layer)
{
    return atomic_load_explicit(&layer->switches.state, memory_order_relaxed) & 1;
}

/* Makes the writer look for work. Any thread, also in a signal handler. */
static inline void layer_wake_writer(struct layer *layer)
{
    sem_post(&layer->writer.work);
}

/* Whether the writer is going to give back chunks that are handed over. */
static inline bool layer_writes(const struct layer *layer)
{
    return atomic_load(&layer->writer.runs) && !atomic_load(&layer->writer.has_ended);
}

#endif
