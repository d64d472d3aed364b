/* SPDX-License-Identifier: MIT */
/*
 * Ends without MPI_Finalize: exit, and the signals that end a process and can be caught. MPI_Abort
 * is in control.c.
 *
 * A signal is watched where its action is the default one when MPI begins, a fault also where the
 * handler is one of the MPI library's own dependencies. A handler that the application installed
 * before is left alone; one that it installs later takes our place. After ours the signal takes the
 * action that it had before, so that the process ends as it would have without us.
 */
#ifndef QMPI_TOOL_PROFILE_SAVE_TERMINATION_H
#define QMPI_TOOL_PROFILE_SAVE_TERMINATION_H

/* Begins to watch; again: does nothing. In the thread that begins MPI. */
void termination_watch(void);

/* Ends, when every layer has reported. */
void termination_unwatch(void);

#endif
