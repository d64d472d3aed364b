/* SPDX-License-Identifier: MIT */
/* The streams of a file: of each thread, and of what interrupts it, the events that have been
 * translated and not written. For the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_STREAM_H
#define QMPI_TOOL_TRACE_WRITE_STREAM_H

#include "record/chunks.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct layer;

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

/* Makes a block of what has been translated. */
void stream_finish_block(struct layer *layer, struct stream *stream);

/* Forgets a stream whose thread has ended. */
void stream_end(struct layer *layer, struct stream *stream);

#endif
