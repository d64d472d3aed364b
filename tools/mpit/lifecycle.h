/* SPDX-License-Identifier: MIT */
/*
 * The work of one layer of mpit. Before MPI is initialized, the layer makes the settings. When MPI
 * has been initialized, it prints the list (at=init), and starts the handles of variables. Before
 * MPI is finalized, it takes a last sample, and prints the list (at=finalize).
 */
#ifndef QMPI_TOOL_MPIT_LIFECYCLE_H
#define QMPI_TOOL_MPIT_LIFECYCLE_H

#include "tools/mpit/samples.h"
#include "tools/mpit/variable.h"

#include <pthread.h>
#include <stdbool.h>

enum lifecycle_moment { AT_INIT, AT_FINALIZE, AT_NEVER };

struct mpit_layer {
    int tool_id;
    enum lifecycle_moment at;
    bool json;
    const char *output;                 /* a pattern, NULL for stderr, or "-" for stdout */
    const char *folder;                 /* where relative names of files begin */
    const char *patterns, *globs, *csv; /* the options show=, pvars= and csv=, or NULL */
    /* Held while the following members change, except `sessions`, which is atomic, and `samples`,
     * which has a lock of its own. */
    pthread_mutex_t lock;
    bool begun;          /* MPI_T is initialized, and settings are made */
    bool running, ended; /* MPI is initialized and not finalized; lifecycle_end was called */
    bool has_world;
    int sessions; /* number of open sessions */
    /* Without MPI_COMM_WORLD, `ranks` is 2 if a launcher has started this process, because there
     * may be others, and 1 otherwise. */
    int rank, ranks;
    struct variable_early early;  /* the library's control variables before MPI is initialized */
    struct samples_watch started; /* variables that must be started */
    struct samples samples;
};

/*
 * Called before MPI is initialized. Initializes MPI_T through the layers below. All layers that
 * publish on demand then do so, including those above this one. Then makes the settings, and
 * reads the library's control variables. Further calls have no effect.
 */
void lifecycle_begin(struct mpit_layer *layer);

/* Called when MPI has been initialized; further calls have no effect. `has_world` tells whether
 * MPI_COMM_WORLD exists. */
void lifecycle_run(struct mpit_layer *layer, bool has_world);

/* Takes a sample if csv= is given. Called by MPI_Pcontrol(2). */
void lifecycle_sample(struct mpit_layer *layer);

/* Called before MPI is finalized; further calls have no effect. Takes the last sample, prints
 * the list with at=finalize, and finalizes MPI_T through the layers below. */
void lifecycle_end(struct mpit_layer *layer);

/*
 * Sets the control variables of the options set.NAME=VALUE. This function is defined in settings.c.
 * It is called when MPI_T, but not MPI, is initialized. If a variable cannot be set, one process of
 * the job prints a message, and each process exits with status 2. With QMPI_ON_ERROR=skip, the
 * processes continue without the setting.
 */
void mpit_apply_settings(int tool_id);

#endif
