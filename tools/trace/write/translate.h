/* SPDX-License-Identifier: MIT */
/* Records as events of a stream. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_TRANSLATE_H
#define QMPI_TOOL_TRACE_WRITE_TRANSLATE_H

#include "record/chunks.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

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
    bool has_early;       /* the last one of `calls` was opened early */
    uint64_t early_ticks; /* when that call began */
    struct stream *next;  /* of the same location */
};

/* The stream of a level of a thread; made if there is none. NULL: memory is exhausted. */
struct stream *stream_of(struct layer *layer, uint32_t location, uint32_t number,
                         int64_t thread_id);
static inline struct stream *stream_of_chunk(struct layer *layer, const struct chunk *chunk)
{
    return stream_of(layer, chunk->location, chunk->stream, chunk->thread_id);
}

/* Translates what is in a chunk and has not been read yet. Full blocks are appended to the output
 * of the writer. */
void translate_chunk(struct layer *layer, struct stream *stream, struct chunk *chunk);

/* A call that is in progress, and of which nothing has been recorded yet, begins. What is recorded
 * of it later is taken for the rest of this call. `number`: that of its flight. */
void translate_early(struct layer *layer, struct stream *stream, uint64_t number, uint64_t ticks);

/* What was lost after the last chunk. */
void translate_lost(struct layer *layer, struct stream *stream, const struct recorder *recorder);

/* Makes a block of what has been translated. */
void stream_finish_block(struct layer *layer, struct stream *stream);

/* Forgets a stream whose thread has ended. */
void stream_end(struct layer *layer, struct stream *stream);

#endif
