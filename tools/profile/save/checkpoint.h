/* SPDX-License-Identifier: MIT */
/*
 * checkpoint=SECONDS: the data of a process is saved periodically, in case of ends that it is not
 * told of. By a thread of ours, so that a process in a long computation is saved, too; it makes no
 * MPI call and takes no signal.
 */
#ifndef QMPI_TOOL_PROFILE_SAVE_CHECKPOINT_H
#define QMPI_TOOL_PROFILE_SAVE_CHECKPOINT_H

struct layer;

/* Begins, where the option asks for it; again: does nothing. */
void checkpoint_start(struct layer *layer);

/* Ends; waits for a checkpoint that is being written. */
void checkpoint_stop(struct layer *layer);

/* A signal ends the process: no layer begins another checkpoint; waits for those that are being
 * written, but not for long. In the handler. */
void checkpoint_strike(void);

#endif
