/* SPDX-License-Identifier: MIT */
/* format=perfetto and json: one file of each process. */
#ifndef QMPI_TOOL_TRACE_SAVE_CONVERT_H
#define QMPI_TOOL_TRACE_SAVE_CONVERT_H

#include "toolkit/toolkit.h"

struct layer;

/* Collective over `comm`, which contains all processes; their files are complete. Each
 * process reads its own, and writes it in that format; time 0 is the same in all. */
void convert_write(struct layer *layer, MPI_Comm comm);

#endif
