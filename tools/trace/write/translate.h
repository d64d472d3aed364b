/* SPDX-License-Identifier: MIT */
/* Records as events of a stream. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_TRANSLATE_H
#define QMPI_TOOL_TRACE_WRITE_TRANSLATE_H

#include "record/chunks.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct flight;
struct layer;
struct recorder;

/* A call that the stream has begun and not ended. */
struct stream_call {
    uint32_t function, site; /* as in events */
};

struct stream {
    uint32_t location, number;
    struct trace_encoder *encoder;
    struct stream_call *calls;
    size_t call_count, call_room;
    uint64_t last;              /* ticks of the last event */
    uint64_t flush_from, flush; /* is to be told; 0: nothing */
    uint32_t sequence;          /* of the next chunk */
    uint64_t events;
    struct stream *next; /* of the same location */
};

/* The stream of a chunk; made if there is none. NULL: memory is exhausted. */
struct stream *stream_of(struct layer *layer, const struct chunk *chunk);

/* Translates what is in a chunk and has not been read yet. Full blocks are appended to the output
 * of the writer. */
void translate_chunk(struct layer *layer, struct stream *stream, struct chunk *chunk);

/* Calls that are in progress and of which nothing has been recorded yet: they begin, and do not
 * end. */
void translate_flights(struct layer *layer, struct stream *stream, const struct flight *first);

/* What was lost after the last chunk. */
void translate_lost(struct layer *layer, struct stream *stream, const struct recorder *recorder);

/* Makes a block of what has been translated. */
void stream_finish_block(struct layer *layer, struct stream *stream);

/* Forgets a stream whose thread has ended. */
void stream_end(struct layer *layer, struct stream *stream);

#endif
