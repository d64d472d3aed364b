/* SPDX-License-Identifier: MIT */
/*
 * The state of a layer of profile that all threads of the process share: the options, the
 * communicators, files, regions and pending receives. The figures of calls are kept separately for
 * each thread (see threads.h).
 */
#ifndef QMPI_TOOL_PROFILE_LAYER_H
#define QMPI_TOOL_PROFILE_LAYER_H

#include "toolkit/toolkit.h"
#include "tools/profile/collect/environment.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/windows.h"
#include "tools/profile/result/profile.h"

#include <qmpi/qmpi.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The options, after they were checked (profile.c). */
struct layer_options {
    const char *output; /* the pattern of the file's name; NULL: the table goes to stderr */
    enum profile_output_format format;
    profile_html_writer *write_page; /* NULL unless the format is HTML */
    int top;                         /* the maximum number of rows in each table; 0: all rows */
    int depth;                       /* the maximum number of frames of a call site */
    bool python;         /* Lines of Python are found; `depth` then includes a frame for a line. */
    bool sync;           /* A barrier precedes blocking collectives. */
    bool every_rank;     /* Lists by rank contain every rank, not only outliers. */
    uint64_t checkpoint; /* the interval in nanoseconds; 0: no checkpoints */
    int save_signal;     /* the signal that asks for a checkpoint; 0: none */
    struct profile_thresholds thresholds;
};

struct layer_comm {
    MPI_Comm handle;
    bool live;
    int size, first; /* These and `members` are described at struct profile_communicator. */
    uint64_t members;
    char name[MPI_MAX_OBJECT_NAME];
    uint64_t id; /* see QMPIX_Comm_get_identity; 0: unknown */
    /* The rank in MPI_COMM_WORLD of each process, or -1 if the process is not in it. NULL: unknown.
     * In an intercommunicator, the processes of the remote group come last; the ranks in calls
     * refer to these. */
    int *world;
    int peers; /* the number of processes to which the ranks in calls refer */
};

/* The sum over communicators that have the same name and the same processes. */
struct layer_comm_sum {
    uint64_t key[3]; /* hash of the name, size, members */
    struct layer_comm comm;
    uint64_t instances;
    struct thread_stats stats;
};

struct layer_comms {
    struct handles handles;
    /* A communicator that was freed stays in `all`, not live, until its number is reused. */
    struct layer_comm **all; /* [number] */
    int count;
    int *unused; /* the unused numbers; the array has room for `count` of them */
    int unused_count;
    size_t room, unused_room; /* see QMPI_MEMORY_RESERVE */
    struct table freed;       /* The rows are struct layer_comm_sum. */
    MPI_Group world; /* the group of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL: unknown */
};

struct layer_file {
    char *name;
    uint64_t opens;
};

struct layer_files {
    struct handles handles;
    struct layer_file *all; /* [number] */
    int count;
    size_t room;          /* see QMPI_MEMORY_RESERVE */
    struct table numbers; /* The rows are struct file_name_row (objects.c). */
};

struct layer_region {
    char *name;
    uint64_t entries;
    uint64_t time;  /* ticks that it was open while profiling was on, until it was last closed */
    uint64_t since; /* the result of regions_time when it was opened; valid if `open` is not 0 */
    int open;       /* how many begins have had no end yet */
};

/*
 * A node of a binary trie that represents a set of regions. A node is a leaf with one region, or
 * joins two sets of regions whose numbers agree above one bit and differ in that bit. Each set has
 * exactly one node, whatever the order in which its regions were opened. Because sets share nodes,
 * opening or closing one of n regions takes O(log n) steps and new nodes. Node 0 is the empty set.
 */
struct layer_region_node {
    int without, with; /* the nodes of the regions whose numbers lack the bit, and have it */
    /* `bit` is 0 in a leaf. `prefix` holds the bits above `bit`, which all numbers share; in a leaf
     * it is the number of the region. */
    unsigned bit, prefix;
};

struct layer_regions {
    /* The key under which calls are counted now, without the number of their function. CALL_OFF is
     * set while profiling is off, and CALL_APART outside application time (see threads.h). */
    _Atomic uint64_t now;
    struct layer_region *all;
    int count;
    size_t room;        /* see QMPI_MEMORY_RESERVE */
    struct table names; /* The rows are struct region_name; they map a name to its number. */
    struct layer_region_node *nodes;
    int node_count;
    size_t node_room;
    struct table sets;         /* The rows are struct region_set; they map members to a node. */
    int open;                  /* the node of the set of open regions */
    uint64_t unmatched;        /* how many ends named a region that was not open */
    char first_unmatched[128]; /* the name in the first of these ends */
    /* The ticks of application time during which profiling was on. The period that began at
     * `on_since` is added when it ends. */
    uint64_t on_time;
    uint64_t on_since; /* 0: profiling is off, or it is not application time */
    /* The same for the ticks of application time during which profiling was off. */
    uint64_t off_time, off_since;
    struct windows_scale scale;
    struct windows on_windows; /* the time in on_time, by window */
};

struct layer_receives {
    struct pending_table table; /* The entries are struct receive (receives.c). */
    /* This grows when the layer is switched off, because the layer misses completions from then on.
     * Receives of an earlier epoch are dropped. */
    uint64_t epoch;
};

/* The state of the thread that writes checkpoints (see collect/save.h). */
struct layer_saving {
    bool watches; /* save_watch_signals has dealt with the signal of save-signal=. */
    bool runs;
    atomic_bool stop;
    bool names_early;  /* The file of the process was named before MPI told the rank. */
    atomic_int writes; /* the number of threads that write a checkpoint */
    atomic_int paused; /* While this is not 0, no checkpoint may be written. */
    pthread_t thread;
    sem_t wanted; /* posted to ask for a checkpoint (also by signal handlers), or to stop */
};

/* MPI_Finalize while it is in progress and the results are not merged yet. Both members are NULL at
 * other times. */
struct layer_finalize {
    const QMPIX_Call *call;
    const QMPIX_Word *word;
};

struct layer {
    int tool_id;
    struct layer_options options;
    char begin[32];                 /* when the layer was made, in ISO 8601, UTC */
    char *command;                  /* the command line; NULL: unknown */
    struct environment environment; /* as it was in `init` */
    char *program;                  /* the path of the executable; NULL: unknown */
    char *mpi;                      /* the first line of the MPI library's version */
    int rank; /* in MPI_COMM_WORLD or mpi://WORLD; at first, as the launcher tells it */
    struct layer_finalize finalize;
    bool has_failed;    /* MPI_Finalize could not merge the results. */
    atomic_bool closed; /* MPI has been finalized, and no session of the program outlives it. */
    /* A session was open in MPI_Finalize, where the results were merged, and the number of calls
     * then (threads_count_calls). */
    bool has_sessions;
    bool has_begun; /* the layer has seen that MPI or a session was initialized */
    uint64_t merged_calls;
    atomic_bool reported; /* The data is written or being written, or is in the merged result. */
    atomic_bool was_on;   /* The layer has been switched on, so there is something to report. */
    char *folder;         /* the working directory during `init`; NULL: unknown */
    struct tool_output output;         /* for the result of all ranks */
    struct tool_output process_output; /* for the result of this process alone */
    struct layer_saving saving;
    /* `saved`: a checkpoint has been written and not removed. `warned`: a message has said that one
     * could not be written. */
    bool saved, warned;
    atomic_int snapshots; /* how many files MPI_Pcontrol(2) has begun */
    struct tool_world_sessions sessions;
    /* This protects `comms`, `files` and `regions` against concurrent changes; `receives` needs no
     * lock. Calls on known communicators and files find these without the lock. */
    pthread_mutex_t lock;
    struct layer_comms comms;
    struct layer_files files;
    struct layer_regions regions;
    struct layer_receives receives;
    struct layer *next;
};

/* The layers of this process, linked by `next`. The layer that was added last comes first. */
extern struct layer *layer_list;

/* Adds a layer, which must be complete. This is called in `init`. */
void layer_add(struct layer *layer);

/* Returns whether the layer is switched on. */
bool layer_is_on(const struct layer *layer);

/* Returns whether the layer is switched on for a function. This matters for functions that the
 * layer observes even while it is switched off (see traits_set_always_on). */
bool layer_is_on_for(const struct layer *layer, int number);

/* Returns whether this is the process that made the layers. A forked child returns false, and must
 * report nothing. */
bool layers_are_of_process(void);

/* Takes the lock of the layer, and returns whether it was taken. `crashed` means that this process
 * is the child that saves the data after a fatal signal (collect/save.c). The function then gives
 * up after about 10 ms and returns false, because the lock may have been held when the process
 * forked. Pass the result to layer_unlock. */
bool layer_lock(struct layer *layer, bool crashed);
void layer_unlock(struct layer *layer, bool locked);

#endif
