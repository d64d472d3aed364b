/* SPDX-License-Identifier: MIT */
/* Processes that write an archive together (trace/otf2.h), by means of a communicator. */
#ifndef QMPI_TOOL_TRACE_SAVE_GROUP_H
#define QMPI_TOOL_TRACE_SAVE_GROUP_H

#include "toolkit/toolkit.h"
#include "trace/trace.h"

#include <stdbool.h>

/* `comm` must exist as long as the group. False: a call of MPI failed. */
bool group_make(struct trace_otf2_group *group, MPI_Comm *comm);

#endif
