/* SPDX-License-Identifier: MIT */
/*
 * The record of a job: a line of JSON in a file of its own. Each change of the state writes the
 * whole line to a new file, which then replaces the old one. Therefore, a reader never sees half of
 * a line, and a full file system leaves the last state that was written.
 */
#ifndef QMPI_TOOLS_JOBS_RECORD_H
#define QMPI_TOOLS_JOBS_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum jobs_state {
    JOBS_NONE, /* nothing has been written */
    JOBS_STARTING,
    JOBS_RUNNING,
    JOBS_FINALIZED,
    JOBS_EXITED,
    JOBS_ABORTED,
    JOBS_SIGNALED
};

struct jobs_record {
    char path[PATH_MAX];         /* empty if the record cannot be written */
    char temporary[2][PATH_MAX]; /* for normal use, and for a signal handler that interrupts it */
    struct timespec begin;       /* when the process began */
    /* The beginning of the line, whose members do not depend on the state. It is NULL if memory is
     * exhausted. Nothing is written then. */
    char *head;
    enum jobs_state state;
    bool is_finalized;  /* MPI_Finalize has returned */
    int exit;           /* the exit status or the argument of MPI_Abort, or -1 if it is not known */
    const char *signal; /* the name of the signal that ends the process, or NULL */
};

/* What is known about the processes of the job. */
struct jobs_processes {
    int ranks;                /* the number of ranks, or -1 if it is not known */
    int node_count;           /* the number of nodes, or -1 if it is not known */
    const char *const *nodes; /* the names of the nodes, or of the first ones */
    int named;                /* the number of these names */
    const char *mpi;          /* the version of the MPI library, or NULL */
};

/* Prepares a record in an existing directory, given by its full path. If memory is exhausted or the
 * path is too long, the record cannot be written. */
void jobs_record_make(struct jobs_record *record, const char *directory, int tool_id);

/* Makes `head`. An earlier one is not freed, because a signal handler may be writing it. */
void jobs_record_describe(struct jobs_record *record, const struct jobs_processes *processes);

/* Writes the line. Returns 0, or an error number if the line cannot be written. A signal handler
 * may call this function, with `in_handler` set to true. */
int jobs_record_write(const struct jobs_record *record, bool in_handler);

/* Removes the file. A process calls this function if it has learned that another process records
 * the job. */
void jobs_record_remove(const struct jobs_record *record);

#endif
