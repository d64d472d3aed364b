/* SPDX-License-Identifier: MIT */
/* Where a process begins to write its file, and what becomes of the trace when MPI ends. */
#ifndef QMPI_TOOL_TRACE_SAVE_START_H
#define QMPI_TOOL_TRACE_SAVE_START_H

#include "toolkit/toolkit.h"

#include <stdbool.h>

struct layer;

/* Collective over `comm`, a communicator of all processes: rank 0 prepares the directory, and each
 * process that records begins to write its file there. */
void start_all(struct layer *layer, MPI_Comm comm);

/* The same for this process alone. */
void start_alone(struct layer *layer);

/* The memory is full, and MPI_Init has not returned: this process begins to write to a file beside
 * the directory, which start_all moves there. False: it cannot. */
bool start_early(struct layer *layer);

/* Collective over `comm`: makes of the files what the options ask for. They are complete. */
void finish_all(struct layer *layer, MPI_Comm comm);

#endif
