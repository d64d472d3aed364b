/* SPDX-License-Identifier: MIT */
/* See stream.h. */
#define _GNU_SOURCE
#include "write/stream.h"

#include "layer.h"
#include "write/definitions.h"

#include <stdlib.h>
#include <string.h>

static struct stream *make_stream(struct layer *layer, uint32_t location, uint32_t number)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->location = location;
    stream->number = number;
    stream->encoder = trace_encoder_make(location, number, layer->options.compress);
    if (!stream->encoder) {
        free(stream);
        return NULL;
    }
    return stream;
}

static bool make_room(struct writer *writer, uint32_t location)
{
    if (location < writer->stream_count)
        return true;
    const uint32_t count = location + 16;
    struct stream **streams = realloc(writer->streams, count * sizeof *streams);
    if (!streams)
        return false;
    memset(streams + writer->stream_count, 0, (count - writer->stream_count) * sizeof *streams);
    writer->streams = streams;
    writer->stream_count = count;
    return true;
}

struct stream *stream_of(struct layer *layer, uint32_t location, uint32_t number, int64_t thread_id)
{
    struct writer *writer = &layer->writer;
    if (!make_room(writer, location))
        return NULL;
    struct stream **place = &writer->streams[location];
    const bool is_first = !*place;
    while (*place && (*place)->number != number)
        place = &(*place)->next;
    if (!*place && (*place = make_stream(layer, location, number)) && is_first)
        definitions_location(layer, &writer->records, location, thread_id);
    return *place;
}

void stream_end(struct layer *layer, struct stream *stream)
{
    struct stream **place = &layer->writer.streams[stream->location];
    while (*place != stream)
        place = &(*place)->next;
    *place = stream->next;
    trace_encoder_free(stream->encoder);
    free(stream->calls);
    free(stream);
}

/* What events refer to comes before them. */
void stream_finish_block(struct layer *layer, struct stream *stream)
{
    struct writer *writer = &layer->writer;
    if (!stream->events)
        return;
    definitions_take(layer, &writer->records);
    if (writer->records.size)
        trace_put_definitions(&writer->out, &writer->records);
    if (trace_encoder_finish(stream->encoder, &writer->out))
        atomic_fetch_add(&writer->events, stream->events);
    else
        atomic_fetch_add(&layer->dropped, stream->events);
    stream->events = 0;
}
