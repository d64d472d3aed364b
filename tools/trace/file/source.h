/* SPDX-License-Identifier: MIT */
/*
 * The file of a process: what is in it, found by reading the heads of its blocks, and its
 * definitions. Blocks of events are read when they are needed. The file is open only while it is
 * read, so that any number of files can be read together.
 */
#ifndef QMPI_TRACE_FILE_SOURCE_H
#define QMPI_TRACE_FILE_SOURCE_H

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"

/* A block of events. */
struct trace_source_block {
    uint64_t offset; /* in the file */
    uint64_t number; /* of its first event in the stream */
    uint64_t events;
    uint64_t first, last; /* ticks */
    uint64_t begin; /* ticks: of the outermost call in progress at its beginning, or `first` */
    uint64_t size;  /* of the whole block, as it is in the file */
    uint32_t location, stream;
};

/* The blocks of a stream, and the calls in progress at its end. */
struct trace_source_stream {
    uint32_t location, stream;
    const struct trace_source_block *blocks;
    size_t count;
    struct trace_event_stack end;
};

/* The ticks of the first event that a cursor gives of a stream. */
uint64_t trace_source_begin(const struct trace_source_stream *stream, bool is_ring);

struct trace_source {
    char *path;
    struct trace_source_block *blocks; /* by location, stream and number */
    size_t block_count, block_room;
    struct trace_source_stream *streams;
    size_t stream_count;
    uint32_t fields[TRACE_KINDS_MAX];
    uint64_t size;     /* of the file */
    uint64_t damaged;  /* bytes that are no blocks, or invalid ones, before the last block */
    uint64_t lost;     /* events in them at the end of streams, about which no cursor tells */
    uint32_t unknown;  /* index of a function for those whose definition is damaged; TRACE_NONE */
    int error;         /* errno: blocks could not be read, accessed atomically; 0: none */
    bool is_exhausted; /* definitions were ignored, because they would take too much memory */
    bool lacks_zstd;   /* blocks were ignored, because libzstd is not there */
};

/*
 * Reads the definitions of a process, and finds the blocks of events. On failure returns false and
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

/* Reads a block; `loaded` may contain an earlier one, whose memory is used again, and `scratch`
 * too. Returns false if it is damaged, memory is exhausted, or, with `error` of the source, the
 * file cannot be opened. */
bool trace_source_load(const struct trace_source *source, const struct trace_source_block *block,
                       struct trace_source_loaded *loaded, struct trace_bytes *scratch);
void trace_source_free_block(struct trace_source_loaded *loaded);

#endif
