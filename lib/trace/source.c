/* SPDX-License-Identifier: MIT */
/* See source.h. */
#define _GNU_SOURCE
#include "trace/source.h"

#include "trace/block_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* In a ring, the calls in progress at its beginning are given from their beginning on. */
uint64_t trace_source_begin(const struct trace_source_stream *stream, bool is_ring)
{
    const struct trace_source_block *block = &stream->blocks[0];
    return is_ring && block->number ? block->begin : block->first;
}

void trace_source_close(struct trace_source *source)
{
    for (size_t i = 0; i < source->stream_count; i++)
        trace_stack_free(&source->streams[i].end);
    free(source->streams);
    free(source->blocks);
    free(source->path);
    *source = (struct trace_source){0};
}

bool trace_source_load(const struct trace_source *source, const struct trace_source_block *block,
                       struct trace_loaded_block *loaded, struct trace_bytes *scratch)
{
    struct trace_block found;
    const int descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool whole =
        trace_block_file_head(descriptor, block->offset, &found, scratch) &&
        trace_events_head_read(&loaded->head, &loaded->stack, scratch->data, scratch->size) &&
        trace_block_file_body(descriptor, block->offset, &found, &loaded->body, scratch);
    close(descriptor);
    /* The file may have been replaced. */
    const struct trace_events_head *head = &loaded->head;
    return whole && found.type == TRACE_BLOCK_EVENTS && head->location == block->location &&
           head->stream == block->stream && head->number == block->number &&
           head->events == block->events && head->first == block->first &&
           head->last == block->last;
}

void trace_loaded_block_free(struct trace_loaded_block *loaded)
{
    trace_stack_free(&loaded->stack);
    trace_bytes_free(&loaded->body);
    *loaded = (struct trace_loaded_block){0};
}
