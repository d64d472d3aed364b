/* SPDX-License-Identifier: MIT */
/* The parts of perfetto.h: packets and sequences of packets; tracks and their descriptions. Field
 * numbers are those of Perfetto's protos/perfetto/trace/. */
#ifndef QMPI_TRACE_PERFETTO_PARTS_H
#define QMPI_TRACE_PERFETTO_PARTS_H

#include "trace/perfetto.h"
#include "trace/protobuf.h"
#include "trace/table.h"

enum track_event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_DEBUG_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_DOUBLE_COUNTER_VALUE = 44,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48,
    EVENT_CORRELATION_ID = 52
};

/* Tables of interned strings. */
enum interned { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_STRING = 29 };

/* The debug annotations. */
enum annotation {
    ANNOTATION_PEER = 1,
    ANNOTATION_TAG,
    ANNOTATION_BYTES,
    ANNOTATION_COMM,
    ANNOTATION_RECEIVED,
    ANNOTATION_ROOT,
    ANNOTATION_SITE,
    ANNOTATION_WINDOW,
    ANNOTATION_FILE,
    ANNOTATION_UNFINISHED,
    ANNOTATION_INTERRUPTED,
    ANNOTATION_EVENTS,
    ANNOTATION_FUNCTION,
    ANNOTATION_CREATED,
    ANNOTATION_FREED,
    ANNOTATIONS
};

struct perfetto_output {
    FILE *stream;
    const struct trace_export *export;
    struct trace_numbers numbers;
    struct protobuf block, packet, entry; /* packets to be written, and parts of one */
    uint32_t *groups; /* of a process: by function, the first one of its group */
    uint32_t sequences;
    int64_t base; /* of time 0 */
    bool failed;
};

/* Packets of one track, whose times and strings refer to those before. */
struct perfetto_sequence {
    uint32_t id; /* 0: it has not begun */
    int64_t last;
    struct trace_table interned;
    struct protobuf event, strings; /* that is being made, and strings that it needs */
};

/* ---- Packets --------------------------------------------------------------------------------- */

/* Writes what makes the file ours, and how processes are ordered. */
void perfetto_begin(struct perfetto_output *output);
void perfetto_end(struct perfetto_output *output);

/* Writes a packet with a description of a track. */
void perfetto_describe(struct perfetto_output *output, const struct protobuf *descriptor);

/* Begins a sequence of events of a track. */
void perfetto_start(struct perfetto_output *output, struct perfetto_sequence *sequence,
                    uint64_t track);
void perfetto_stop(struct perfetto_sequence *sequence);

/* An event: begins it, adds to it, and writes it. */
void perfetto_event(struct perfetto_sequence *sequence, enum track_event_type type);
void perfetto_intern(struct perfetto_sequence *sequence, enum interned table, uint64_t iid,
                     const char *text);
void perfetto_name(struct perfetto_sequence *sequence, uint64_t iid, const char *name);
void perfetto_category(struct perfetto_sequence *sequence, uint64_t iid, const char *name);
void perfetto_annotate(struct perfetto_output *output, struct perfetto_sequence *sequence,
                       enum annotation name, int64_t value);
void perfetto_annotate_text(struct perfetto_output *output, struct perfetto_sequence *sequence,
                            enum annotation name, uint64_t iid, const char *text);
void perfetto_write(struct perfetto_output *output, struct perfetto_sequence *sequence,
                    int64_t time);

/* ---- Tracks ---------------------------------------------------------------------------------- */

enum perfetto_track { TRACK_PROCESS, TRACK_THREAD, TRACK_REGION, TRACK_COUNTER };

uint64_t perfetto_track(const struct perfetto_output *output, uint32_t process,
                        enum perfetto_track kind, uint32_t index);
void perfetto_describe_process(struct perfetto_output *output, uint32_t process);
void perfetto_describe_thread(struct perfetto_output *output, uint32_t process, uint32_t location);
void perfetto_describe_region(struct perfetto_output *output, uint32_t process, uint32_t region);
void perfetto_describe_counter(struct perfetto_output *output, uint32_t process, uint32_t counter);

/* The slices of the calls of one thread. */
struct perfetto_thread;
struct perfetto_thread *perfetto_thread_make(struct perfetto_output *output, uint32_t process,
                                             uint32_t location);
void perfetto_thread_add(struct perfetto_thread *thread, const struct trace_event *event,
                         uint64_t message);
/* Ends what is in progress, and frees it. */
void perfetto_thread_end(struct perfetto_thread *thread, int64_t time);

#endif
