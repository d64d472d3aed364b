/* SPDX-License-Identifier: MIT */
/* The values of chosen performance variables, again and again, as lines of a CSV file. */
#ifndef QMPI_TOOL_MPIT_SAMPLES_H
#define QMPI_TOOL_MPIT_SAMPLES_H

#include "pvar_session.h"
#include "unready.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct samples {
    const char *globs; /* of names; NULL: all */
    const struct early *early;
    bool has_left_out; /* some that they match, for `early` does not allow them */
    int tool_id, rank;
    char *file;
    FILE *stream;   /* NULL: nothing is written */
    int number;     /* of the next sample */
    uint64_t begin; /* ticks */
    struct watch watch;
    pthread_mutex_t lock;
};

/* Opens the file (`file` is taken over) and follows the variables. Says what goes wrong. */
void samples_begin(struct samples *samples, int tool_id, int rank, bool has_world,
                   const char *globs, const struct early *early, char *file);

/* Appends the present values; `moment` is "pcontrol" or "finalize". Any thread. */
void samples_write(struct samples *samples, const char *moment);

/* Closes the file and says of patterns that nothing matched. */
void samples_end(struct samples *samples);

#endif
