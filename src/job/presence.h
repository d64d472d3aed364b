/* SPDX-License-Identifier: MIT */
/*
 * Finds out which processes of the job have libqmpi and exchange their stacks in MPI_Init. MPI
 * cannot be used for this: in a process without libqmpi, the program would receive the message, and
 * a collective call would wait for that process for ever. Instead, the process manager is asked.
 * Each process with libqmpi puts a key into the key-value store of the process manager, and
 * MPI_Init makes the key visible to all.
 */
#ifndef QMPI_JOB_PRESENCE_H
#define QMPI_JOB_PRESENCE_H

#include <stdbool.h>

enum qmpi_presence {
    QMPI_PRESENCE_UNKNOWN, /* this process could not put its key, or cannot ask the process
                              manager */
    QMPI_PRESENCE_ABSENT,
    QMPI_PRESENCE_PRESENT
};

/* Puts the key of this process, or lets MPI_Init put it. Called before MPI or a session is
 * initialized; further calls have no effect. */
void qmpi_presence_announce(void);

/* Returns whether the process with this rank in MPI_COMM_WORLD has put its key. Called after MPI
 * has been initialized. */
enum qmpi_presence qmpi_presence_of(int rank);

#endif
