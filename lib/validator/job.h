/* SPDX-License-Identifier: MIT */
/*
 * Counts the faults of all processes of the job on this host, so that each kind of fault is
 * reported once. The processes share a table in a file in /dev/shm, which the first one creates.
 * The process that finds the first fault of a kind in a layer prints it at once. The process that
 * exits last prints the numbers of calls. If a process dies, its entries stay in the table. Without
 * a launcher or such a file, each process has its own table.
 */
#ifndef VALIDATOR_JOB_H
#define VALIDATOR_JOB_H

#include <stdbool.h>

/* Joins the processes of the job. `kinds`: the number of kinds of faults. */
void job_start(int kinds);

/* Removes the name of the file, so that it does not remain if all processes die. Must be called
 * when all processes have joined. Further calls have no effect. */
void job_hide(void);

/* Tells the job that a call has reached a layer of this process. */
void job_set_called(void);

/* Counts a fault of this process in a call of a function. Returns true if this is the first one of
 * its kind in this layer among the processes of the job on this host. The caller must then report
 * it and call job_set_reported. */
bool job_count(int tool_id, const char *name, int kind, int function);

/* Marks a fault for which job_count has returned true as reported. */
void job_set_reported(int tool_id, const char *name, int kind);

/* The faults of one kind in one layer. */
struct job_faults {
    int tool_id;
    const char *name; /* the name of the layer */
    int kind;
    const unsigned *calls; /* [function] */
    char *ranks;           /* `, rank 3`, `, 2 ranks (0, 3)`, or an empty text */
};

/*
 * Must be called when this process exits; `found` tells whether it has found faults. In the last
 * process, calls `print` for all calls that have not been printed yet. In another process with
 * faults, waits up to some seconds until the last process has called `print`, because some
 * launchers end a job when a process has returned an error. If the last process has not called
 * `print` by then, this process calls it. Returns whether this process has called `print`, or would
 * have if there were calls. `*clean` tells whether calls have reached layers of the job, and no
 * process has found faults.
 */
bool job_end(bool found, bool *clean, void (*print)(const struct job_faults *faults));

#endif
