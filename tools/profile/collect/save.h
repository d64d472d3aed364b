/* SPDX-License-Identifier: MIT */
/*
 * This writes results. The result of all ranks has the format that the options select. The result
 * of one process goes to a separate JSON file for `qmpi report`. It is written when the process
 * ends and its data is not in the result of all ranks, at checkpoints, and when the program asks
 * for it. The end of a process is noticed if it is an exit, MPI_Abort, or a fatal signal that can
 * be caught. After any other end, only the last checkpoint remains.
 */
#ifndef QMPI_TOOL_PROFILE_COLLECT_SAVE_H
#define QMPI_TOOL_PROFILE_COLLECT_SAVE_H

#include "tools/profile/layer.h"

/* Writes the result of all ranks, as the options say, and frees it. Errors are reported. */
void save_job_result(struct layer *layer, struct profile_result *result);

/* ---- The data of this process ---------------------------------------------------------------- */

/* Writes the data of a process that ends without MPI_Finalize, unless the data was reported already
 * or the layer was never on, and prints the name of the file. `termination` tells how the process
 * ends, such as "MPI_Abort". Further calls do nothing. */
void save_last(struct layer *layer, const char *termination);

/* Handles MPI_Pcontrol(2): writes the current data to a new file, and prints its name. */
void save_current(struct layer *layer);

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* Starts a thread that writes checkpoints, if the option checkpoint= or save-signal= is given and
 * the thread does not run yet. A failure is reported. */
void save_start_checkpoints(struct layer *layer);

/* Between these calls, the thread writes no checkpoint, so that the caller may change data that a
 * checkpoint contains. save_pause_checkpoints waits for a checkpoint that is being written. A
 * checkpoint that is wanted meanwhile is written after save_resume_checkpoints. */
void save_pause_checkpoints(struct layer *layer);
void save_resume_checkpoints(struct layer *layer);

/* Writes a checkpoint now, if the option checkpoint= is given. Checkpoints must be paused. */
void save_last_checkpoint(struct layer *layer);

/* Stops the thread that writes checkpoints, and waits for a checkpoint that is being written. */
void save_stop_checkpoints(struct layer *layer);

/* Removes a checkpoint that was written in MPI_Init, if its name lacks the rank or contains another
 * one than that of MPI. Call this when the rank is known, while checkpoints are paused. */
void save_correct_name(struct layer *layer);

/* Removes the checkpoint, if there is one. Call this when the data is in the result of the job. */
void save_remove_checkpoint(struct layer *layer);

/* ---- Fatal signals --------------------------------------------------------------------------- */

/* Handles the signal of the option save-signal= and starts the thread that writes checkpoints,
 * because MPI_Init may never return. Call this before MPI_Init. */
void save_watch_early(struct layer *layer);

/* Handles fatal signals, and the signals of the option save-signal=, from now on. Further calls
 * only matter for layers that were added meanwhile. Call this in the thread that begins MPI. */
void save_watch_signals(void);

/* Stops handling these signals, if all layers have reported. */
void save_unwatch_signals(void);

#endif
