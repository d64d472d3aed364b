/* SPDX-License-Identifier: MIT */
/* format=perfetto and json: one file of all processes. */
#ifndef QMPI_TOOL_TRACE_SAVE_CONVERT_H
#define QMPI_TOOL_TRACE_SAVE_CONVERT_H

#include "toolkit/toolkit.h"

struct layer;

/* Collective over `comm`, which contains all processes; their files are complete. Rank 0 reads them
 * and writes the file. */
void convert_write(struct layer *layer, MPI_Comm comm);

#endif
