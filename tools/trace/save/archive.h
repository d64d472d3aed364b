/* SPDX-License-Identifier: MIT */
/* What becomes of the files of all processes when MPI ends: the format that the options ask for. */
#ifndef QMPI_TOOL_TRACE_SAVE_ARCHIVE_H
#define QMPI_TOOL_TRACE_SAVE_ARCHIVE_H

#include "toolkit/toolkit.h"

#include <stdbool.h>

struct layer;

/* In `init`: says, once for all processes, if the library that the format needs is not there. */
void archive_check(const struct layer *layer);

/* Collective over `comm`, which contains all processes; their files are complete. Problems are said
 * by rank 0. */
void archive_write(struct layer *layer, MPI_Comm comm);

#endif
