/* SPDX-License-Identifier: MIT */
/*
 * The data of one layer of trace: its options, whether it records, the objects and requests of the
 * program, the memory in which threads record, and the state of the writing thread.
 */
#ifndef QMPI_TOOL_TRACE_LAYER_H
#define QMPI_TOOL_TRACE_LAYER_H

#include "toolkit/toolkit.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/name.h"
#include "tools/trace/record/traits.h"
#include "util/util.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_SITE_FRAMES_MAX = 32 }; /* frames of a call site */

/* The format that is written in MPI_Finalize, in addition to the files of the processes. */
enum trace_format { FORMAT_OTF2, FORMAT_PERFETTO, FORMAT_PROCESS_FILES };

struct layer_options {
    const char *output; /* pattern of the directory's name */
    enum trace_format format;
    uint64_t memory;  /* the number of bytes for data that are recorded, but not written */
    bool drops;       /* set by full=drop */
    bool is_ring;     /* set by buffer=ring */
    uint64_t history; /* set by keep=, in nanoseconds; 0: limited only by memory */
    int save_signal;  /* 0: none */
    bool sites;
    int depth; /* maximum number of frames in a call site */
    bool compress;
    unsigned char chosen[MPI_LAST_FUNC]; /* functions=; 0: not selected */
    bool all_chosen;
    struct qmpi_value_set ranks;
    const char *regions;  /* patterns; NULL: not given */
    uint64_t begin, end;  /* nanoseconds after MPI_Init; `end` is UINT64_MAX if it is not given */
    const char *counters; /* patterns; NULL: none */
    uint64_t interval;    /* interval between samples of counters, in nanoseconds */
};

/* Bits for the reasons why a layer does not record. */
enum layer_off {
    LAYER_OFF_DISABLED = 1 << 0, /* it is switched off */
    LAYER_OFF_PCONTROL = 1 << 1, /* MPI_Pcontrol(0) */
    LAYER_OFF_RANK = 1 << 2,     /* ranks= excludes this rank */
    LAYER_OFF_REGION = 1 << 3,   /* no region of regions= is open */
    LAYER_OFF_BEGIN = 1 << 4,    /* the time of begin= has not come yet */
    LAYER_OFF_END = 1 << 5,      /* the time of end= has passed */
    LAYER_OFF_CLOSED = 1 << 6,   /* MPI_Finalize was called, or the process ends */
    LAYER_OFF_CHILD = 1 << 7,    /* this is a forked child */
    LAYER_OFF_FAILED = 1 << 8    /* there is no file to write to */
};

struct layer_switches {
    /* This increases after each change of the others, under the lock of the layer; odd: the layer
     * records. A thread that finds a new number with acquire order then reads the others; relaxed
     * order tells it only that there is one. */
    _Atomic uint64_t state;
    uint64_t off;      /* LAYER_OFF_… */
    uint64_t ticks[2]; /* times of the last change to off, and of the last change to on */
};

/* The communicators, windows and files of the program: see record/objects.h. */
enum layer_object_kind { OBJECT_COMM, OBJECT_WINDOW, OBJECT_FILE, OBJECT_KINDS };
struct layer_objects {
    struct handles handles[OBJECT_KINDS]; /* keys are the words of the program's handles */
    uint32_t counts[OBJECT_KINDS];
    uint32_t *window_comms; /* [index of a window]: index of its communicator + 1; 0: unknown */
    size_t window_room;
    MPI_Group world; /* the group of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL: unknown */
};

/* Call sites, in buckets to which elements are only added: see record/objects.h. */
enum { LAYER_SITE_BUCKET_BITS = 12 };
struct layer_sites {
    struct site *_Atomic *buckets;
    atomic_uint count;
};

/* Definitions that threads have added, and those that are in the file: see record/objects.h. All
 * members after the first one belong to the writer. */
struct layer_definitions {
    struct record_definition *_Atomic added; /* a list that starts with the latest */
    const char **libraries;                  /* [index]: libraries that are defined in the file */
    size_t library_room;
    uint32_t library_count;
    uint16_t *functions; /* [number]: index + 1 of a function that is defined in the file; 0: not
                            yet */
    uint32_t function_count;
};

/* The thread that writes the file of the process: see write/writer.h. */
enum { LAYER_WRITER_RESERVED = 8 };
struct layer_writer {
    atomic_bool runs;
    sem_t work; /* posted when the writer has something to do */
    char *path; /* path of the file */
    char *mpi;  /* version of the MPI library, for a file that was begun before MPI_Init */
    atomic_bool has_world; /* the rank is known, but was not yet written to such a file */
    struct qmpi_output output;
    int locked;                              /* the descriptor that holds the lock of the file */
    bool has_said;                           /* a message that the file cannot be written was
                                                printed */
    int reserved[LAYER_WRITER_RESERVED];     /* descriptors; -1: none */
    atomic_bool has_failed;                  /* nothing more can be written */
    _Atomic uint64_t bytes;                  /* size of the file */
    _Atomic uint64_t events;                 /* number of events in the file */
    uint64_t alive;                          /* ticks of the last record in the file that the
                                                process is running, */
    uint64_t alive_at, alive_size;           /* and its position and size */
    struct trace_bytes new_definitions, out; /* data to be written; `out` also contains blocks */
    struct translator **translators; /* [location]: a list of the thread's translator and those of
                                        its signal handlers */
    size_t location_room;
    struct record_chunk *ring, **ring_end; /* with buffer=ring, the chunks that are kept, the oldest
                                              first */
    struct record_chunk *done;             /* chunks to be given back */
    atomic_bool saves;                     /* the writer must write the ring */
    /* enum trace_process_end; TRACE_END_NONE: not yet. It is exchanged after what follows is
     * stored. */
    atomic_int end;
    const char *end_detail; /* such as "SIGTERM" */
    uint64_t end_ticks;
    atomic_bool has_ended; /* the file is complete */
    int64_t begin, stop;   /* times of begin= and end= on CLOCK_MONOTONIC in nanoseconds; 0: none */
};

struct layer {
    int tool_id;
    bool (*start_early)(struct layer *layer); /* points to save_start_early, because recorder.c
                                                 cannot call it directly */
    struct layer_options options;
    struct tool_output output;
    char *directory;       /* of the trace; an absolute path if possible */
    char *first_directory; /* the directory that was chosen in `init` */
    int rank, ranks;       /* in MPI_COMM_WORLD (mpi://WORLD); TRACE_UNDEFINED and 0: unknown */
    int launcher_rank;     /* the rank from the launcher, for use before MPI_Init; -1: unknown */
    uint64_t run[2];       /* identifies the run; the same in all processes */
    int64_t started;       /* the time of start_ticks in nanoseconds since the Epoch */
    uint64_t start_ticks;
    uint64_t init_ticks, finalize_ticks; /* the times when the clocks were compared; 0: never */
    /* The recorder while it is in MPI_Finalize and the trace is not complete; otherwise NULL. */
    struct recorder *finalizer;
    const QMPIX_Word *finalize_word;
    atomic_uchar ends[MPI_LAST_FUNC]; /* [number]: enum call_end of record/observe.c */
    atomic_bool opens_calls;          /* calls with events at their beginning are opened before they
                                         are carried out */
    struct layer_switches switches;
    atomic_uint omits;                  /* TRACE_OMITS_… */
    bool has_failed_early;              /* start_early has failed */
    bool has_started;                   /* the processes have agreed on the directory */
    bool has_no_directory;              /* no process of the run can write to it */
    atomic_bool finished;               /* the file is complete, or is being completed */
    struct record_pool *pool;           /* see record/recorder.h */
    struct recorder *_Atomic recorders; /* the recorders of all threads */
    atomic_uint locations;              /* number of locations that were assigned to threads */
    _Atomic uint64_t requests;          /* number of request numbers that were assigned to
                                           recorders */
    _Atomic uint64_t dropped;           /* number of records */
    pthread_mutex_t lock;               /* protects objects and regions; no MPI call is made under
                                           it */
    struct layer_objects objects;
    struct regions *regions;   /* see record/control.c */
    struct counters *counters; /* see record/counters.c */
    struct pending_table operations, messages;
    _Atomic uint64_t operation_order; /* number of the last operation */
    _Atomic uint64_t epoch;           /* increases when completions of operations may have been
                                         missed */
    struct layer_sites sites;
    struct layer_definitions definitions;
    struct tool_world_sessions sessions;
    struct layer_writer writer;
    struct layer *next;
};

/* The list of all layers in this process; the lowest one is the last. */
extern struct layer *layer_list;

/* Adds a layer, and records that this process is the one that records. */
void layer_add(struct layer *layer);

/* Whether this process records. A forked child does not. */
bool layer_is_in_owner(void);

/* Sets the initial reasons LAYER_OFF_…. Called in `init`. */
void layer_set_first_off(struct layer *layer, uint64_t off);

/* Adds or removes a reason LAYER_OFF_…. Each thread notices the change in its next call: see
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

/* Whether the writer will give back chunks that are handed over to it. */
static inline bool layer_writes(const struct layer *layer)
{
    return atomic_load(&layer->writer.runs) && !atomic_load(&layer->writer.has_ended);
}

#endif
