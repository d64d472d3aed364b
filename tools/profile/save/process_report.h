/* SPDX-License-Identifier: MIT */
/*
 * What a process writes of itself alone: at an end without MPI_Finalize, at a checkpoint, and where
 * the program asks for it. Always JSON, for `qmpi report`, in a file of its own.
 */
#ifndef QMPI_TOOL_PROFILE_SAVE_PROCESS_REPORT_H
#define QMPI_TOOL_PROFILE_SAVE_PROCESS_REPORT_H

#include "layer.h"

/*
 * This process ends: writes what has not been reported yet and says where. Does so once. `crashed`:
 * in the child of a struck process, where symbols are not looked up and locks not waited for.
 */
void process_leave(struct layer *layer, const char *termination, bool crashed);

/* This process ends as it should, its sessions finalized, and what it has is in no result of all
 * ranks: writes that, once, and says where unless output= did. */
void process_end_sessions(struct layer *layer);

/* MPI_Pcontrol(2): writes what there is by now into a file of its own, and says where. */
void process_snapshot(struct layer *layer);

/* Saves what there is by now in place of what was saved before. In checkpoint.c's thread. */
void process_checkpoint(struct layer *layer);

/* The job's result is whole: what was saved is removed. */
void process_remove_checkpoint(struct layer *layer);

/* Writes the result of all ranks, as the options say, and frees it. */
void process_write_all(struct layer *layer, struct profile_result *result);

#endif
