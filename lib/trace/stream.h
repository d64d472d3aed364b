/* SPDX-License-Identifier: MIT */
/*
 * Gives the events of one stream, one after the other, and ensures what trace_cursor_make promises:
 * properly nested calls, valid indices, parts of calls at the ends of a selection, and
 * TRACE_DROPPED where blocks are missing.
 */
#ifndef QMPI_TRACE_STREAM_H
#define QMPI_TRACE_STREAM_H

#include "trace/decode.h"
#include "trace/event.h"
#include "trace/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_stream {
    const struct trace_source *source;
    const struct trace_process *process;
    const struct trace_source_stream *stream;
    uint64_t begin, end; /* the first and the last ticks that are wanted */

    size_t next_block; /* to be loaded */
    bool is_after;     /* all blocks are before `begin` */
    struct trace_loaded_block loaded;
    struct trace_decoder decoder;
    bool is_loaded;    /* there may be more events in the block */
    bool has_loaded;   /* any block */
    uint64_t number;   /* of the next event */
    uint64_t last;     /* ticks of the last event given */
    uint64_t earliest; /* ticks: before this, nothing is given */

    struct trace_stack stack; /* calls in progress */
    size_t told;              /* of these, how many have been given */
    uint64_t dropped;         /* events that are missing, which is still to be told */
    size_t common;            /* in a gap between blocks: calls in progress before and after it */
    bool is_gap;              /* others are to be left: then go on with `loaded` */
    struct trace_event held;  /* read, but not given yet */
    bool has_held, is_at_end, is_finished;
};

/* Begins a stream; what `stream` points to must stay. */
void trace_stream_begin(struct trace_stream *stream);

/* Sets the next event, without its time, and the depth of the call that it begins or ends (0: the
 * outermost). Returns false at the end. `scratch` is for the time of the call. */
bool trace_stream_next(struct trace_stream *stream, struct trace_event *event, size_t *depth,
                       struct trace_bytes *scratch);
void trace_stream_free(struct trace_stream *stream);

#endif
