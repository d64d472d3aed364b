/* SPDX-License-Identifier: MIT */
/* Calls that change what is recorded, or that begin and end it: MPI_Init, MPI_Finalize, sessions,
 * MPI_Abort, MPI_Pcontrol. */
#ifndef QMPI_TOOL_TRACE_RECORD_CONTROL_H
#define QMPI_TOOL_TRACE_RECORD_CONTROL_H

#include "record/recorder.h"

/* Whether what such a call does is recorded within it. */
bool control_tells(const struct traits *traits);

/* Before such a call. `is_on`: it is to be recorded. The result is whether it has been recorded
 * already, because it does not return, or recording ends with it. */
bool control_before(struct recorder *recorder, const QMPIX_Call *call, struct flight *flight,
                    bool is_on);

/* When it has returned, within its record if it has one; and after that. */
void control_after(struct recorder *recorder, const QMPIX_Call *call, bool has_succeeded,
                   uint64_t ticks);
void control_end(struct recorder *recorder, const QMPIX_Call *call);

/* Before MPI_Comm_free and MPI_Comm_disconnect, and after MPI_Comm_create_from_group. */
void control_free_comm(struct layer *layer, const QMPIX_Call *call);
void control_comm_created(struct layer *layer, const QMPIX_Call *call);

#endif
