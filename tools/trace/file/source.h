/* SPDX-License-Identifier: MIT */
/*
 * The file of a process: its definitions, and the list of its blocks of events, which is made from
 * the heads of the blocks. The events themselves are read when they are needed. The file is only
 * open while it is read, so that any number of files can be read together.
 */
#ifndef QMPI_TRACE_FILE_SOURCE_H
#define QMPI_TRACE_FILE_SOURCE_H

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"

/* A block of events. */
struct trace_source_block {
    uint64_t offset; /* in the file */
    uint64_t number; /* number of its first event in the stream */
    uint64_t events;
    uint64_t first, last; /* ticks */
    uint64_t begin;       /* ticks of the outermost call in progress at its beginning, or `first` */
    uint64_t size;        /* size of the whole block in the file */
    uint32_t location, stream;
};

/* The blocks of a stream, and the calls in progress at its end. */
struct trace_source_stream {
    uint32_t location, stream;
    const struct trace_source_block *blocks;
    size_t count;
    struct trace_event_stack end;
};

/* Returns the ticks of the first event that a cursor for the whole trace returns for a stream.
 * `is_ring` is that of the process. */
uint64_t trace_source_begin(const struct trace_source_stream *stream, bool is_ring);

struct trace_source {
    char *path;
    struct trace_source_block *blocks; /* ordered by location, stream and number */
    size_t block_count, block_room;
    struct trace_source_stream *streams;
    size_t stream_count;
    uint32_t fields[TRACE_KINDS_MAX];
    uint64_t size;    /* size of the file */
    uint64_t damaged; /* number of bytes that are not in valid blocks, except `unfinished` of the
                         process */
    uint64_t lost;    /* number of events in damaged blocks at the ends of streams; cursors do not
                         report these */
    uint32_t unknown; /* index of the function that stands for functions with a damaged definition;
                         TRACE_NONE if none is needed */
    int error; /* errno if the file could not be opened to read a block, otherwise 0; accessed
                  atomically */
    bool is_exhausted; /* definitions were ignored, because they would need too much memory */
    bool lacks_zstd;   /* blocks were ignored, because libzstd is not available */
};

/*
 * Reads the definitions of a process, and finds the blocks of events. On failure, returns false and
 * sets *problem to a message, which the caller frees.
 */
bool trace_source_open(struct trace_source *source, struct trace_process *process, const char *path,
                       char **problem);
void trace_source_close(struct trace_source *source);

/* The contents of a block of events, which the caller frees. */
struct trace_source_loaded {
    struct trace_event_decoder_head head;
    struct trace_event_stack stack; /* calls in progress at its beginning */
    struct trace_bytes body;
};

/* Reads a block. `loaded` may contain an earlier block, whose memory is reused, and `scratch` is
 * temporary memory. Returns false if the block is damaged or has been replaced, memory is
 * exhausted, or the file cannot be opened; in the last case, sets `error` of the source. */
bool trace_source_load(const struct trace_source *source, const struct trace_source_block *block,
                       struct trace_source_loaded *loaded, struct trace_bytes *scratch);
void trace_source_free_block(struct trace_source_loaded *loaded);

#endif
