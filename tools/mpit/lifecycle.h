/* SPDX-License-Identifier: MIT */
/*
 * What one layer of mpit does from MPI's beginning to its end: settings before, then the list or
 * the begin of following variables, at the end what there is to tell.
 */
#ifndef QMPI_TOOL_MPIT_LIFECYCLE_H
#define QMPI_TOOL_MPIT_LIFECYCLE_H

#include "samples.h"
#include "unready.h"

#include <pthread.h>
#include <stdbool.h>

enum moment { AT_INIT, AT_FINALIZE, AT_NEVER };

struct layer {
    int tool_id;
    enum moment at;
    bool json;
    const char *output; /* pattern; NULL: stderr; "-": stdout */
    const char *patterns, *globs, *csv;
    pthread_mutex_t lock; /* of what follows */
    bool begun;           /* MPI_T is initialized, and settings are made */
    bool running, ended;  /* between the end of MPI_Init and MPI_Finalize */
    bool has_world;
    int sessions; /* open ones */
    int rank, ranks;
    struct early early;   /* the library's control variables before MPI is initialized */
    struct watch started; /* variables that count from when they are started */
    struct samples samples;
};

/*
 * Before MPI is initialized. MPI_T is initialized from the top of the stack, as if the application
 * did it: then layers that publish on demand do so, those above this one too.
 */
void lifecycle_begin(struct layer *layer);

/* MPI is initialized; again: does nothing. `has_world`: by MPI_Init. */
void lifecycle_run(struct layer *layer, bool has_world);

/* MPI_Pcontrol(2). */
void lifecycle_sample(struct layer *layer);

/* MPI is about to be finalized. */
void lifecycle_end(struct layer *layer);

#endif
