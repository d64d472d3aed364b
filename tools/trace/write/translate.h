/* SPDX-License-Identifier: MIT */
/* Records as events of a stream. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_TRANSLATE_H
#define QMPI_TOOL_TRACE_WRITE_TRANSLATE_H

#include "record/chunks.h"
#include "write/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct layer;
struct recorder;

/* Translates what is in a chunk and has not been read yet. Full blocks are appended to the output
 * of the writer. */
void translate_chunk(struct layer *layer, struct stream *stream, struct chunk *chunk);

/* A call that is in progress, and of which nothing has been recorded yet, begins. What is recorded
 * of it later is taken for the rest of this call. `number`: that of its flight. */
void translate_early(struct layer *layer, struct stream *stream, uint64_t number, uint64_t ticks);

/* What was lost after the last chunk. */
void translate_lost(struct layer *layer, struct stream *stream, const struct recorder *recorder);

#endif
