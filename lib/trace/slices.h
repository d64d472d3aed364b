/* SPDX-License-Identifier: MIT */
/*
 * A trace as viewers show it, the same in all of their formats: each thread is a track of slices,
 * one for a call, with the arguments of the call; regions and counters are tracks of their process.
 * A message is a flow between two instants, one when it is sent and one when it has been received;
 * members of one collective have the same correlation id.
 */
#ifndef QMPI_TRACE_SLICES_H
#define QMPI_TRACE_SLICES_H

#include "trace/export.h"

enum trace_track { TRACK_THREAD, TRACK_REGION, TRACK_COUNTER };

enum trace_track_event { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };

/* The arguments of an event. */
enum trace_argument {
    ARGUMENT_PEER = 1,
    ARGUMENT_TAG,
    ARGUMENT_BYTES,
    ARGUMENT_COMM,
    ARGUMENT_RECEIVED,
    ARGUMENT_ROOT,
    ARGUMENT_SITE,
    ARGUMENT_WINDOW,
    ARGUMENT_FILE,
    ARGUMENT_UNFINISHED,
    ARGUMENT_INTERRUPTED,
    ARGUMENT_EVENTS,
    ARGUMENT_FUNCTION,
    ARGUMENT_CREATED,
    ARGUMENT_FREED,
    ARGUMENT_CORRELATION, /* the name of `correlation` in formats that have no other one */
    ARGUMENTS
};
extern const char *const trace_argument_names[ARGUMENTS];

/*
 * What a format does with an event: `event` begins one, `name` and `category` follow, the others
 * tell what it has, and `write` ends it. `output` is the argument of trace_slices_write, `track`
 * what `open` has returned. The number `id` of a text identifies it among those of its kind on the
 * track.
 */
struct trace_slices_format {
    void (*begin_process)(void *output, uint32_t process);
    /* `index`: of a location, a region or a counter. NULL: memory is exhausted. */
    void *(*open)(void *output, uint32_t process, enum trace_track kind, uint32_t index);
    void (*close)(void *track);
    void (*event)(void *track, enum trace_track_event type);
    void (*name)(void *track, uint64_t id, const char *text);
    void (*category)(void *track, uint64_t id, const char *text);
    void (*number)(void *track, enum trace_argument argument, int64_t value);
    void (*text)(void *track, enum trace_argument argument, uint64_t id, const char *text);
    bool (*has_text)(void *track, uint64_t id); /* then `text` needs no text */
    void (*correlation)(void *track, uint64_t id);
    void (*flow)(void *track, uint64_t id, bool is_end);
    void (*value)(void *track, double value); /* of a counter */
    void (*write)(void *track, int64_t time);
};

/* Writes one process of the view after the other. Returns false if memory is exhausted. */
bool trace_slices_write(const struct trace_export *export, const struct trace_slices_format *format,
                        FILE *stream, void *output);

#endif
