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

struct layer;

/* A value of the option `format`: what is written in MPI_Finalize in addition to the files of the
 * processes. All values are in a table in save/formats.c. */
struct layer_format {
    const char *name;
    /* Called in `init` to report what this format lacks. NULL if it lacks nothing. */
    void (*check)(const struct layer *layer);
    /* Writes the format. Collective over `comm`. NULL if nothing is written. */
    void (*write)(struct layer *layer, MPI_Comm comm);
};

struct layer_options {
    const char *output; /* pattern of the directory's name */
    const struct layer_format *format;
    uint64_t memory;  /* size in bytes of the memory for records that are not written yet */
    bool drops;       /* set by full=drop */
    bool is_ring;     /* set by buffer=ring */
    uint64_t history; /* set by keep=, in nanoseconds; 0 if only memory limits it */
    int save_signal;  /* set by save-signal=; 0 if there is none */
    bool sites;
    int depth; /* maximum number of frames in a call site */
    bool compress;
    /* By number of the function: whether functions= selects it. */
    unsigned char chosen[MPI_LAST_FUNC];
    bool all_chosen;
    struct qmpi_value_set ranks;
    const char *regions;  /* patterns of regions=, or NULL */
    uint64_t begin, end;  /* nanoseconds after MPI_Init; `end` is UINT64_MAX without end= */
    const char *counters; /* patterns of counters=, or NULL */
    uint64_t interval;    /* least time between two samples of a counter, in nanoseconds */
};

/* Bits for the reasons why a layer does not record. */
enum layer_off {
    LAYER_OFF_DISABLED = 1 << 0, /* the whole layer is switched off */
    LAYER_OFF_PCONTROL = 1 << 1, /* MPI_Pcontrol(0) */
    LAYER_OFF_RANK = 1 << 2,     /* ranks= excludes this rank */
    LAYER_OFF_REGION = 1 << 3,   /* no region of regions= is open */
    LAYER_OFF_BEGIN = 1 << 4,    /* the time of begin= has not come yet */
    LAYER_OFF_END = 1 << 5,      /* the time of end= has passed */
    LAYER_OFF_CLOSED = 1 << 6, /* MPI_Finalize was called, the process ends, or qmpi only checks the
                                  stack (QMPI_CHECK) */
    LAYER_OFF_CHILD = 1 << 7,  /* this is a forked child */
    LAYER_OFF_FAILED = 1 << 8  /* there is no file to write to */
};

struct layer_switches {
    /* A counter that is incremented each time that recording is switched on or off, under the lock
     * of the layer and after the other members were changed. It is odd while the layer records. A
     * thread may use relaxed order to find out whether the counter has changed, but needs acquire
     * order before it reads the other members. */
    _Atomic uint64_t state;
    uint64_t off;      /* LAYER_OFF_… */
    uint64_t ticks[2]; /* the times when recording was last switched off [0] and on [1] */
};

/* The communicators, windows and files of the program: see record/objects.h. */
enum layer_object_kind { OBJECT_COMM, OBJECT_WINDOW, OBJECT_FILE, OBJECT_KINDS };
struct layer_objects {
    struct handles handles[OBJECT_KINDS]; /* the keys are the program's handles as words */
    uint32_t counts[OBJECT_KINDS];
    uint32_t *window_comms; /* [index of a window]: index of its communicator + 1, or 0 if it is
                               unknown */
    size_t window_room;
    /* The group of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL if it is unknown. */
    MPI_Group world;
};

/* Call sites, in buckets to which elements are only added: see record/objects.h. */
enum { LAYER_SITE_BUCKET_BITS = 12 };
struct layer_sites {
    struct site *_Atomic *buckets;
    atomic_uint count;
};

/* Definitions that threads have added, and what is already defined in the file: see
 * record/objects.h. Only the writer uses the members after the first one. */
struct layer_definitions {
    struct record_definition *_Atomic added; /* a list that starts with the latest */
    const char **libraries; /* the libraries that are defined in the file, by index */
    size_t library_room;
    uint32_t library_count;
    uint16_t *functions; /* by number of the function: its index in the file + 1, or 0 if it is not
                            defined yet */
    uint32_t function_count;
};

/* The thread that writes the file of the process: see write/writer.h. */
enum { LAYER_WRITER_RESERVED = 8 };
struct layer_writer {
    atomic_bool runs;
    sem_t work; /* posted when the writer has something to do */
    char *path; /* path of the file */
    char *mpi;  /* version of the MPI library; set if the file was begun before MPI_Init */
    atomic_bool has_world; /* the rank must be added to a file that was begun before MPI_Init */
    struct qmpi_output output;
    int locked;    /* descriptor by which the file is locked */
    bool has_said; /* the message that the file cannot be written was printed */
    int reserved[LAYER_WRITER_RESERVED]; /* descriptors for files that are written in MPI_Finalize,
                                            or -1 */
    atomic_bool has_failed;              /* nothing more can be written */
    _Atomic uint64_t bytes;              /* size of the file */
    _Atomic uint64_t events;             /* number of events in the file */
    /* The latest block in the file which states that the process is running: its ticks, its
     * position and its size. */
    uint64_t alive, alive_at, alive_size;
    /* Definitions and whole blocks that are to be written. */
    struct trace_bytes new_definitions, out;
    struct translator **translators; /* by location: the list of the thread's translator and those
                                        of its signal handlers */
    size_t location_room;
    /* With buffer=ring, the chunks that are kept; the oldest is first. */
    struct record_chunk *ring, **ring_end;
    struct record_chunk *done; /* chunks that are to be given back */
    atomic_bool saves;         /* the writer must write the ring */
    /* How the process ends (enum trace_process_end), or TRACE_END_NONE while it runs. Stored after
     * the next two members. */
    atomic_int process_end;
    const char *process_end_detail; /* such as "SIGTERM", or NULL */
    uint64_t process_end_ticks;
    atomic_bool has_ended;    /* the file is complete */
    int64_t begin_at, end_at; /* the times of begin= and end= on CLOCK_MONOTONIC in nanoseconds, or
                                 0 */
};

struct layer {
    int tool_id;
    bool (*start_early)(struct layer *layer); /* points to process_file_start_early, because
                                                 recorder.c cannot call it directly */
    struct layer_options options;
    struct tool_output output;
    char *directory;       /* directory of the trace, as an absolute path if possible */
    char *first_directory; /* the directory that was chosen in `init` */
    /* The rank and the number of ranks in MPI_COMM_WORLD or mpi://WORLD; TRACE_UNDEFINED and 0 if
     * they are unknown. */
    int rank, ranks;
    int launcher_rank; /* rank as the launcher says, for use before MPI_Init; -1 if unknown */
    uint64_t run[2];   /* identifies the run; the same in all processes */
    int64_t started;   /* the time of start_ticks in nanoseconds since the Epoch */
    uint64_t start_ticks;
    uint64_t init_ticks, finalize_ticks; /* the times when the clocks were compared, or 0 */
    /* From the beginning of MPI_Finalize until the trace is complete, the recorder of the thread
     * that called it, and the word of this call. At other times, the recorder is NULL. */
    struct recorder *finalizing;
    const QMPIX_Word *finalize_word;
    /* By number of the function: the single record by which a usual call is recorded (enum
     * single_record of record/observe.c). */
    unsigned char single_records[MPI_LAST_FUNC];
    /* By number of the function: whether such a call also begins in few steps. */
    atomic_bool begins_shortly[MPI_LAST_FUNC];
    atomic_bool asks_early; /* MPI is queried about the arguments of a call only before the call is
                               carried out and after it: see ask_early in record/observe.c */
    struct layer_switches switches;
    atomic_uint omits;                  /* TRACE_OMITS_… */
    bool has_no_rank;                   /* the process ends: see tool_world_has_rank */
    bool has_failed_early;              /* start_early has failed */
    bool has_started;                   /* the processes have agreed on the directory */
    bool has_no_directory;              /* no process of the run can write to it */
    atomic_bool has_said_late;          /* say_late has printed its message */
    atomic_bool finished;               /* the file is complete, or a thread is completing it */
    struct record_pool *pool;           /* see record/recorder.h */
    struct recorder *_Atomic recorders; /* the recorders of all threads */
    atomic_uint locations;              /* number of locations that were assigned to threads */
    _Atomic uint64_t requests;          /* number of request numbers that recorders have taken */
    _Atomic uint64_t dropped;           /* number of records that were lost */
    pthread_mutex_t lock; /* protects objects, regions and the changes of switches; no MPI call is
                             made under it */
    struct layer_objects objects;
    struct regions *regions;   /* see record/control.c */
    struct counters *counters; /* see record/counters.c */
    struct pending_table operations, messages;
    _Atomic uint64_t operation_order; /* number of the last operation */
    _Atomic uint64_t epoch; /* incremented when completions of operations may have been missed */
    struct layer_sites sites;
    struct layer_definitions definitions;
    struct tool_world_sessions sessions;
    struct layer_writer writer;
    struct layer *next;
};

/* The list of all layers in this process; the lowest one is the last. */
extern struct layer *layer_list;

/* Adds a layer, and remembers that this process is the one that records. */
void layer_add(struct layer *layer);

/* Returns whether this process records. A forked child does not. */
bool layer_is_in_owner(void);

/* Sets the initial reasons LAYER_OFF_…. Called in `init`. */
void layer_set_first_off(struct layer *layer, uint64_t off);

/* Adds or removes a reason LAYER_OFF_…. Each thread notices the change in its next call: see
 * record/call_events.h. Any thread may call this function. */
void layer_set_off(struct layer *layer, uint64_t reason, bool is_there);

/* Returns whether the layer records now. */
static inline bool layer_is_on(const struct layer *layer)
{
    return atomic_load_explicit(&layer->switches.state, memory_order_relaxed) & 1;
}

/* Wakes the writer, which then looks for work. Any thread and any signal handler may call this
 * function. */
static inline void layer_wake_writer(struct layer *layer)
{
    sem_post(&layer->writer.work);
}

/* Returns whether the writer runs, and therefore gives back the chunks that are handed over to
 * it. */
static inline bool layer_writes(const struct layer *layer)
{
    return atomic_load(&layer->writer.runs) && !atomic_load(&layer->writer.has_ended);
}

#endif
