/* SPDX-License-Identifier: MIT */
/* What one layer of log knows. */
#ifndef QMPI_TOOL_LOG_LAYER_H
#define QMPI_TOOL_LOG_LAYER_H

#include "objects.h"
#include "options.h"
#include "sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The thread of stuck=; see hang.h. */
struct hang {
    atomic_bool runs;
    bool stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct layer {
    int tool_id;
    struct options options;
    struct sink sink;
    struct objects objects;
    atomic_int rank;      /* in MPI_COMM_WORLD; before it is known the launcher's */
    atomic_bool is_quiet; /* ranks= leaves this process out */
    bool judges;          /* a line is held back until it is known how the call ended */
    bool knows_requests;  /* see requests.h */
    atomic_int sessions;  /* open ones */
    atomic_bool begun;    /* MPI was initialized, or a session */
    atomic_bool ended;    /* MPI is finalized, or it was said how the process ends */
    struct hang hang;
    struct layer *next;
};

/* All layers of this process, the lowest last, and how many. */
extern struct layer *log_layers;
extern int log_layer_count;

/* When the first layer was initialized, in ticks of <qmpi/clock.h>. */
extern uint64_t log_start;

/* The local time then, in nanoseconds since the Epoch. */
extern uint64_t log_start_local;

/* The process that MPI runs in: a forked child says nothing of its end. */
extern pid_t log_owner;

#endif
