/* SPDX-License-Identifier: MIT */
/*
 * The faults of all processes of the job on this host, so that each kind is reported once. The
 * processes share a table, in a file in /dev/shm that the first one creates. The first fault of a
 * kind in a layer is printed by the process that finds it, at once; the numbers of calls are
 * printed by the process that exits last. What a process that dies has added stays in the table.
 * Without a launcher, or if there can be no such file, a process has a table of its own.
 */
#ifndef VALIDATOR_JOB_H
#define VALIDATOR_JOB_H

#include <stdbool.h>

/* Joins the processes of the job. `kinds`: the number of kinds of faults. */
void job_start(int kinds);

/* All processes have joined: removes the name of the file, so that none is left if all of them die.
 * Further calls have no effect. */
void job_hide(void);

/* Counts a fault of this process, which is in a call of a function. Returns whether it is the first
 * of this kind in this layer, in the whole job: the process then reports it, and calls
 * job_note_reported. Otherwise, it has been reported. */
bool job_count(int tool_id, const char *name, int kind, int function);

/* A fault for which job_count has returned true has been reported. */
void job_note_reported(int tool_id, const char *name, int kind);

/* What is known of the faults of one kind in one layer. */
struct job_faults {
    int tool_id;
    const char *name; /* of the layer */
    int kind;
    const unsigned *calls; /* [function] */
    char *ranks;           /* such as `, rank 3`, `, 2 ranks (0, 3)`, or an empty text */
};

/*
 * This process exits; `found`: it has found faults. If it is the last one, calls `print` for what
 * has not been printed yet. Otherwise, a process with faults waits some seconds for the others
 * before it returns, because some launchers end a job when a process has returned an error.
 * Returns whether this process is the last one; `*any` tells whether any process has found faults.
 */
bool job_end(bool found, bool *any, void (*print)(const struct job_faults *faults));

#endif
