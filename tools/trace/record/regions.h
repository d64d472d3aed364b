/* SPDX-License-Identifier: MIT */
/* Regions of the program: MPI_Pcontrol(1, "name") begins one, MPI_Pcontrol(-1, "name") ends it.
 * They belong to the process, and may overlap. */
#ifndef QMPI_TOOL_TRACE_RECORD_REGIONS_H
#define QMPI_TOOL_TRACE_RECORD_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

struct layer;

/* A region begins or ends. The result is its index; TRACE_NONE: it ends and was not open, or memory
 * is exhausted. With regions=, this may switch recording on or off: *changes is set to that
 * (-1: off, 1: on), and is otherwise 0. */
uint32_t regions_begin(struct layer *layer, const char *name, int *changes);
uint32_t regions_end(struct layer *layer, const char *name, int *changes);

#endif
