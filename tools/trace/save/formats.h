/* SPDX-License-Identifier: MIT */
/*
 * The formats of other programs, which processes write when MPI is finalized: an archive in OTF2,
 * which all processes write together, or a file of each process for Perfetto. The table `formats`
 * in formats.c lists them.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_FORMATS_H
#define QMPI_TOOL_TRACE_SAVE_FORMATS_H

#include "toolkit/toolkit.h"
#include "tools/trace/export/trace.h"

#include <stdbool.h>

struct layer;
struct layer_format;

/* Reads the option `format`. If its value is invalid, reports the failure of the layer with a
 * message and returns false. */
bool formats_read_option(int tool_id, const struct layer_format **format);

/* If the option selects a format whose library is missing (OTF2), reports this, once for all
 * processes. Called in `init`. */
void formats_check(const struct layer *layer);

/* Writes the format that the option selects. The files of the processes must be complete.
 * Collective over `comm`, which contains all processes. Failures are reported by messages. */
void formats_write(struct layer *layer, MPI_Comm comm);

#endif
