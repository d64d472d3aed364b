/* SPDX-License-Identifier: MIT */
/* The state of one layer of the tool log, and its options. */
#ifndef QMPI_TOOL_LOG_LAYER_H
#define QMPI_TOOL_LOG_LAYER_H

#include "tools/log/objects.h"
#include "tools/log/prefix.h"
#include "tools/log/sink.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct layer_options {
    const char *output;         /* pattern of the file's name, or NULL for stderr */
    bool chosen[MPI_LAST_FUNC]; /* the functions that are shown */
    struct qmpi_value_set ranks;
    uint64_t min_size, max_size; /* bytes */
    uint64_t min_time;           /* nanoseconds */
    uint64_t stuck;              /* in nanoseconds; 0 turns the search for stuck calls off */
    bool errors, enter, caller, arguments;
    enum prefix_time time;
    /* The maximum numbers of elements and characters to show. 0 shows all of them, but at most
     * 65536 characters or strings. */
    int array, strings;
};

/* The thread that serves the option stuck=; see unfinished.h. */
struct layer_search {
    atomic_bool runs;
    bool stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct layer {
    int tool_id;
    struct layer_options options;
    struct sink sink;
    struct objects objects;
    /* Each of these atomic values is independent of other data. */
    atomic_int rank; /* rank in MPI_COMM_WORLD, or the launcher's rank until MPI is initialized */
    atomic_bool is_quiet;  /* the option ranks= excludes this process, or `qmpi check` runs */
    atomic_bool is_paused; /* MPI_Pcontrol(0) was called, and no MPI_Pcontrol(1) since */
    bool judges;         /* the result, duration or size of a call decides whether it has a line */
    bool knows_requests; /* see arguments_know_requests */
    atomic_int sessions; /* number of open sessions */
    atomic_bool begun;   /* MPI or a session was initialized */
    atomic_bool ended;   /* MPI is finalized, or the end of the process was reported */
    struct layer_search search;
    struct layer *next;
};

/* All layers of this process, linked by `next`, and their number. The layer that was added last
 * comes first. */
extern struct layer *layer_list;
extern int log_layer_count;

/* The time at which the first layer was initialized, in ticks of <qmpi/clock.h>. */
extern uint64_t log_start;

/* The local time at log_start, in nanoseconds since the Epoch. */
extern uint64_t log_start_local;

/* The process that MPI runs in. A forked child has another process ID and does not report its own
 * end. */
extern pid_t log_owner;

/* All options of the tool log, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option layer_known_options[];

/* Reads the options of layer `tool_id`. If an option is invalid, marks the layer as failed with a
 * message and returns false. */
bool layer_options_read(int tool_id, struct layer_options *options);

#endif
