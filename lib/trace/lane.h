/* SPDX-License-Identifier: MIT */
/*
 * The events of one location: those of its streams, in order of time. What a signal handler did
 * while the recording of an event was interrupted is inserted where it happened.
 */
#ifndef QMPI_TRACE_LANE_H
#define QMPI_TRACE_LANE_H

#include "trace/stream.h"

/* A call in progress: which stream it is of, and its depth in it. */
struct trace_owner {
    size_t stream, depth;
    uint32_t function, site;
};

struct trace_peek {
    struct trace_event event;
    size_t depth;
    bool is_there;
};

struct trace_lane {
    struct trace_stream *streams;
    struct trace_peek *peeks; /* the next event of each */
    size_t count;
    struct trace_owner *owners; /* the outermost first */
    size_t depth, room;
};

/* Makes the lane of `count` streams, which belong to one location. Returns false if memory is
 * exhausted. */
bool trace_lane_make(struct trace_lane *lane, const struct trace_source *source,
                     const struct trace_process *process, const struct trace_source_stream *streams,
                     size_t count, uint64_t begin, uint64_t end, struct trace_bytes *scratch);
void trace_lane_free(struct trace_lane *lane);

/* Sets the next event, without its time. Returns false at the end. */
bool trace_lane_next(struct trace_lane *lane, struct trace_event *event,
                     struct trace_bytes *scratch);

#endif
