/* SPDX-License-Identifier: MIT */
/* This part handles the calls that begin or end the trace or switch recording: MPI_Init,
 * MPI_Finalize, the calls that begin and end sessions, MPI_Abort and MPI_Pcontrol. */
#ifndef QMPI_TOOL_TRACE_RECORD_CONTROL_H
#define QMPI_TOOL_TRACE_RECORD_CONTROL_H

#include "tools/trace/record/recorder.h"

/* Returns whether events are recorded within such a call. This is the case for MPI_Pcontrol, which
 * records regions. */
bool control_has_events(const struct traits *traits);

/* Handles such a call before it is made. `is_on` says whether the call is to be recorded. Returns
 * true for MPI_Abort, which need not be followed further: it may not return, so its beginning was
 * recorded here if `is_on` is true. */
bool control_before(struct recorder *recorder, const QMPIX_Call *call, struct flight *flight,
                    bool is_on);

/* These functions handle such a call after it was made. control_after records the region of
 * MPI_Pcontrol, which ended at `ticks`, before the end of the call is recorded. control_end is
 * called when the call has been recorded. */
void control_after(struct recorder *recorder, const QMPIX_Call *call, bool has_succeeded,
                   uint64_t ticks);
void control_end(struct recorder *recorder, const QMPIX_Call *call);

/* Returns whether a call has initialized MPI or begun a session. */
bool control_begins_mpi(const QMPIX_Call *call);

/* Completes the trace in MPI_Finalize. This is the function that is passed to
 * QMPIX_Register_finalizer. */
void control_finalize(int tool_id, uint64_t ticks);

/* These functions follow the communicators of sessions. The first one is called before
 * MPI_Comm_free and MPI_Comm_disconnect, and the second one after MPI_Comm_create_from_group. */
void control_free_comm(struct layer *layer, const QMPIX_Call *call);
void control_comm_created(struct layer *layer, const QMPIX_Call *call);

#endif
