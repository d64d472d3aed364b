/* SPDX-License-Identifier: MIT */
/* The file of a process. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_FILE_H
#define QMPI_TOOL_TRACE_WRITE_FILE_H

#include "trace/trace.h"

#include <stdbool.h>

struct layer;

/* Creates it, with its header. False: errno tells why. */
bool file_create(struct layer *layer, const char *path);

/* Writes whole blocks, and empties `bytes`. If that fails, the file ends with the last whole block,
 * and recording with it, which is said. */
void file_write(struct layer *layer, struct trace_bytes *bytes);

/* Writes a block of definitions that replaces the last one written so, if it has the same size, and
 * nothing follows that one. Empties `records`. */
void file_write_alive(struct layer *layer, struct trace_bytes *records);

#endif
