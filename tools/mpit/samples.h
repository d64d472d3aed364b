/* SPDX-License-Identifier: MIT */
/* Takes samples of chosen performance variables. */
#ifndef QMPI_TOOL_MPIT_SAMPLES_H
#define QMPI_TOOL_MPIT_SAMPLES_H

#include "tools/mpit/variable.h"
#include "util/util.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Handles of variables -------------------------------------------------------------------- */

/*
 * A session that has a handle for each chosen performance variable, including those that
 * samples_watch_extend finds later.
 */

struct samples_watched {
    int index;
    char *name;
    int var_class;
    const struct variable_type *type;
    int count; /* of elements */
    MPI_T_pvar_handle handle;
};

struct samples_watch {
    int tool_id;
    bool has_world; /* MPI_COMM_WORLD may be used */
    bool (*wants)(void *data, const struct variable *variable);
    void *data;
    MPI_T_pvar_session session;
    int seen; /* number of variables examined so far */
    struct samples_watched *all;
    int count;
    size_t room;
};

/* Allocates a handle for each variable for which `wants` returns true, and starts those that are
 * not continuous. MPI_T must be initialized. */
void samples_watch_begin(struct samples_watch *watch, int tool_id, bool has_world,
                         bool (*wants)(void *data, const struct variable *variable), void *data);

/* Adds variables that have appeared since the last call. */
void samples_watch_extend(struct samples_watch *watch);

/* Returns the watched variable with this index, or NULL if there is none. */
const struct samples_watched *samples_watch_find(const struct samples_watch *watch, int index);

/* Returns the current value, or NULL if it cannot be read. The caller frees the value. */
void *samples_watch_read(const struct samples_watch *watch, const struct samples_watched *watched);

void samples_watch_end(struct samples_watch *watch);

/*
 * Allocates a handle and sets the number of elements. Variables bound to communicators are bound to
 * MPI_COMM_WORLD if `has_world` is true. Returns NULL on success, and otherwise the reason why
 * there is no handle.
 */
const char *samples_watch_open(int tool_id, MPI_T_pvar_session session,
                               const struct variable *variable, bool has_world,
                               MPI_T_pvar_handle *handle, int *count);

/* Removes a file that could not be written, unless it is a link or a device. */
void samples_discard_file(const char *path);

/* ---- Samples --------------------------------------------------------------------------------- */

/* Lines of a CSV file with the values of chosen performance variables. */

struct samples {
    const char *globs; /* patterns of names, or NULL for all */
    const struct variable_early *early;
    bool has_left_out; /* `early` forbids reading some variables that match */
    int tool_id, rank;
    char *file, *path;         /* name as given, and absolute path */
    struct qmpi_output output; /* the file that `stream` writes */
    FILE *stream;              /* NULL if the file could not be opened or written */
    int number;                /* of the next sample */
    uint64_t begin;            /* the ticks of the clock in samples_begin */
    struct samples_watch watch;
    pthread_mutex_t lock;
};

/* Opens `file`, which then belongs to `samples`, and starts the handles. Prints errors. */
void samples_begin(struct samples *samples, int tool_id, int rank, bool has_world,
                   const char *globs, const struct variable_early *early, char *file);

/* Appends the current values. `moment` is "pcontrol" or "finalize". Any thread may call this
 * function. */
void samples_write(struct samples *samples, const char *moment);

/* Closes the file, and prints, on rank 0, which patterns matched no variable. */
void samples_end(struct samples *samples);

#endif
