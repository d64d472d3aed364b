/* SPDX-License-Identifier: MIT */
/* A translator translates the records of one stream to events. A stream is recorded by a thread, or
 * by the signal handlers that interrupt the recording of a thread. Only the writer calls these
 * functions. They append the blocks of events to the output of the writer. */
#ifndef QMPI_TOOL_TRACE_WRITE_TRANSLATOR_H
#define QMPI_TOOL_TRACE_WRITE_TRANSLATOR_H

#include "tools/trace/record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

struct layer;
struct recorder;

/* A call that has begun in the stream and has not ended. */
struct translator_call {
    uint32_t function, site; /* These are the same values as in events. */
};

struct translator {
    struct layer *layer;
    uint32_t location, stream; /* These are the same values as in chunks. */
    struct trace_event_encoder *encoder;
    struct translator_call *calls;
    size_t call_count, call_room;
    uint64_t last; /* time of the last event in ticks */
    /* These are the start and the duration of a wait of the thread for memory, in ticks. The wait
     * has not been written yet. `flush` is 0 if there is none. */
    uint64_t flush_from, flush;
    uint32_t sequence; /* sequence number of the next chunk */
    uint64_t events;   /* number of events in the unfinished block */
    /* The last element of `calls` was begun with translator_begin_early while the call was in
     * progress. */
    bool has_early;
    uint64_t early_ticks;    /* time at which that call was begun */
    struct translator *next; /* next translator of the same location */
};

/* Finds or makes the translator of a stream. Returns NULL if memory is exhausted. */
struct translator *translator_find(struct layer *layer, uint32_t location, uint32_t stream,
                                   int64_t thread_id);
static inline struct translator *translator_of_chunk(struct layer *layer,
                                                     const struct record_chunk *chunk)
{
    return translator_find(layer, chunk->location, chunk->stream, chunk->thread_id);
}

/* Frees the translator of a thread that has ended. */
void translator_free(struct translator *translator);

/* Translates the records of a chunk that have not been read yet. */
void translator_read(struct translator *translator, struct record_chunk *chunk);

/* Begins a call that is in progress and has no records yet. Records of the call that follow later
 * continue it. `number` is the number of its flight (toolkit/flights.h). */
void translator_begin_early(struct translator *translator, uint64_t number, uint64_t ticks);

/* If records were lost after the last chunk, adds an event with their number. */
void translator_put_lost(struct translator *translator, const struct recorder *recorder);

/* Appends the current events to the output of the writer as a block, after the definitions to which
 * they refer. */
void translator_finish_block(struct translator *translator);

#endif
