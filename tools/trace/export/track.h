/* SPDX-License-Identifier: MIT */
/*
 * The tracks of a file for Perfetto, and their events, as packets. Each track is a sequence of
 * packets; the times and strings of a packet refer to earlier packets of its sequence. If memory is
 * exhausted, `failed` of the packets is set.
 */
#ifndef QMPI_TRACE_EXPORT_TRACK_H
#define QMPI_TRACE_EXPORT_TRACK_H

#include "tools/trace/export/export.h"
#include "tools/trace/file/bytes.h"
#include "util/util.h"

/* The packets of one file. The caller sets `stream`, `export` and `base`, and all other members to
 * 0. */
struct trace_track_packets {
    FILE *stream;
    const struct trace_export *export;
    int64_t base; /* the time 0 of the file on the clock of rank 0, in nanoseconds */
    struct trace_bytes block, packet, entry; /* packets to be written, and parts of a packet */
    uint32_t others; /* number of sequences whose numbers are not derived from a rank */
    bool failed;
};

/* Writes TRACE_EXPORT_MARK, by which qmpi recognizes its own files, and the setting that makes
 * viewers show processes and threads in the order that their descriptions contain. */
void trace_track_begin_file(struct trace_track_packets *packets);

/* Writes the last packets, and frees the memory. */
void trace_track_end_file(struct trace_track_packets *packets);

void trace_track_describe_process(struct trace_track_packets *packets, uint32_t process);

enum trace_track_kind { TRACK_THREAD, TRACK_REGION, TRACK_COUNTER };

/* Begins the track of a location, a region or a counter. `index` is its index in the process.
 * Returns NULL if memory is exhausted. */
struct trace_track;
struct trace_track *trace_track_open(struct trace_track_packets *packets, uint32_t process,
                                     enum trace_track_kind kind, uint32_t index);
void trace_track_close(struct trace_track *track);

enum trace_track_event { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };

/* The arguments of an event. */
enum trace_track_argument {
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
    ARGUMENT_CORRELATION, /* not an annotation: see trace_track_add_correlation */
    ARGUMENTS
};

/* These functions begin an event, add its data, and write it. `id` identifies a text among the
 * texts of its kind on the track; a text is written only when its `id` is used for the first time.
 */
void trace_track_begin_event(struct trace_track *track, enum trace_track_event type);
void trace_track_add_name(struct trace_track *track, uint64_t id, const char *text);
void trace_track_add_category(struct trace_track *track, uint64_t id, const char *text);
void trace_track_add_number(struct trace_track *track, enum trace_track_argument argument,
                            int64_t value);
void trace_track_add_text(struct trace_track *track, enum trace_track_argument argument,
                          uint64_t id, const char *text);

/* Returns whether trace_track_add_text was already called with this `id`. If so, the next call does
 * not read `text`, which may be NULL. */
bool trace_track_has_text(const struct trace_track *track, uint64_t id);

/* Adds the id that all members of a collective share. */
void trace_track_add_correlation(struct trace_track *track, uint64_t id);

/* Adds one end of an arrow. Viewers ignore an arrow with only one end. */
void trace_track_add_flow(struct trace_track *track, uint64_t id, bool is_end);

/* Adds the value of a counter. */
void trace_track_add_value(struct trace_track *track, double value);

/* Writes the event. `time` is in nanoseconds since time 0. If it is before the time of the previous
 * event, the time of the previous event is used instead. */
void trace_track_write_event(struct trace_track *track, int64_t time);

/*
 * The numbers by which viewers distinguish processes, threads and sequences. Those of a process
 * with a rank depend only on its rank, the number of ranks, and its own tracks (except that the
 * numbers of sequences from 2^31 on are taken in the order of use). Therefore, files of single
 * ranks have the same numbers as a file of all ranks, and can be joined. Processes without a rank
 * have higher numbers, in the order of the trace.
 */
int64_t trace_track_process_number(const struct trace_view *view, uint32_t process);
int64_t trace_track_thread_number(const struct trace_view *view, uint32_t process,
                                  uint32_t location);
uint32_t trace_track_sequence(struct trace_track_packets *packets, uint32_t process,
                              enum trace_track_kind kind, uint32_t index);

#endif
