/* SPDX-License-Identifier: MIT */
/*
 * Finds the run to which this process belongs. One `qmpi run` starts one run, which is an MPI job
 * or a script that starts several MPI jobs. Without `qmpi run`, the run is a script above the
 * launcher: the oldest one whose environment had settings of qmpi (QMPI_TOOLS, QMPI_CONFIG, or
 * libqmpi in LD_PRELOAD) when it was started. If there is no such script, or if the launcher starts
 * `qmpi run`, the run is the launcher. In a batch job of Slurm, however, the run is the whole batch
 * job, unless `qmpi run` starts the launchers. Each process finds its run by itself, in its
 * environment and in /proc.
 */
#ifndef QMPI_TOOLKIT_RUN_H
#define QMPI_TOOLKIT_RUN_H

#include <stdbool.h>
#include <time.h>

/* Finds the run. This must be called in `init`, before the functions below. Further calls have no
 * effect. Two threads must not call this at the same time. */
void tool_run_find(void);

/* Returns the time at which the run began. Files that were written before this time belong to an
 * earlier run. This may be called in a signal handler. */
const struct timespec *tool_run_begin(void);

/* Returns the time at which the launcher began, which is not later than the beginning of any rank
 * of this program, and not earlier than the end of the program that a script ran before it. If no
 * launcher of a single job is known, returns the time at which this process began; other ranks may
 * then have begun earlier. This may be called in a signal handler. */
const struct timespec *tool_run_program_begin(void);

/* Returns the time at which this process began. This may be called in a signal handler. */
const struct timespec *tool_run_process_begin(void);

/* Returns a text that identifies the MPI job, which consists of all processes on all nodes that a
 * launcher started together, even if they run several programs. Returns NULL if the launcher does
 * not identify the job. The text must not be freed. */
const char *tool_run_job(void);

/* Returns whether the run may consist of several programs, because a script or launcher that
 * `qmpi run` started has started this program. */
bool tool_run_has_programs(void);

/* Returns whether this process was started by a rank, and not by a launcher: its parent was started
 * as a rank and has loaded an MPI library. The process has then inherited the rank's variables. */
bool tool_run_is_child(void);

/* Returns the name of the program without its directory. */
const char *tool_run_program(void);

/* Returns the number of the job in the batch system, or NULL if the process is in no batch job. The
 * text belongs to the environment. */
const char *tool_run_batch_job(void);

/* Returns the result of tool_run_batch_job. If srun of Slurm has started the program, the number of
 * its step follows, as in 4711.0. The steps of other launchers are left out, because they may
 * differ from node to node. The text must not be freed. */
const char *tool_run_batch_step(void);

/* Returns the name of the user, or the user id if the environment has no name. The text must not be
 * freed. */
const char *tool_run_user(void);

#endif
