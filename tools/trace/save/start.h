/* SPDX-License-Identifier: MIT */
/* Where a process begins to write its file, and what becomes of the trace when MPI ends. */
#ifndef QMPI_TOOL_TRACE_SAVE_START_H
#define QMPI_TOOL_TRACE_SAVE_START_H

#include "toolkit/toolkit.h"

struct layer;

/* Collective over `comm`, a communicator of all processes: rank 0 prepares the directory, and each
 * process that records begins to write its file there. */
void start_all(struct layer *layer, MPI_Comm comm);

/* The same for this process alone. */
void start_alone(struct layer *layer);

#endif
