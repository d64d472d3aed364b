/* SPDX-License-Identifier: MIT */
/*
 * What one layer of profile knows: its options, what is being profiled now, and the communicators,
 * files and regions of the process. What calls cost and carry each thread notes for itself: see
 * threads.h.
 */
#ifndef QMPI_TOOL_PROFILE_LAYER_H
#define QMPI_TOOL_PROFILE_LAYER_H

#include "options.h"
#include "record/tables.h"
#include "toolkit/toolkit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The thread that saves what there is; see checkpoint.h. */
struct saving {
    bool runs, stop;
    atomic_bool writes; /* a checkpoint, now */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct path;

struct layer {
    int tool_id;
    struct options options;
    char begin[32];       /* ISO 8601, UTC */
    char *program;        /* its path; NULL: not known */
    char *mpi;            /* the MPI library's version, first line */
    int rank;             /* in MPI_COMM_WORLD (mpi://WORLD); before it is known the launcher's */
    atomic_bool closed;   /* MPI_Finalize was called: nothing more is noted */
    atomic_bool reported; /* what there is has been written, or is in the merged result */
    atomic_bool was_on;   /* the layer has been switched on: there is something to report */
    char *folder;         /* the current one in `init`; NULL: not known */
    struct saving saving;
    bool saved, warned;   /* a checkpoint was written; that one could not was said */
    atomic_int snapshots; /* written so far */
    struct tool_sessions sessions;
    pthread_mutex_t lock; /* of the three below; never taken where only known things are seen */
    struct comms comms;
    struct files files;
    struct regions regions;
    struct receives receives;
    struct path *path; /* NULL: path=no */
    struct layer *next;
};

/* All layers of this process, the lowest last. */
extern struct layer *profile_layers;

/* Whether the layer is switched on. */
bool profile_is_on(const struct layer *layer);

/* Whether it is on for a function that it is called for also while it is off. */
bool profile_is_on_for(const struct layer *layer, int number);

/* Whether this process is the one that MPI runs in: a forked child reports nothing. */
bool profile_is_owner(void);

/* Takes the layer's lock; where `crashed`, after a while without it: the thread that holds it may
 * be the one that was struck. */
bool profile_lock(struct layer *layer, bool crashed);
void profile_unlock(struct layer *layer, bool locked);

#endif
