/* SPDX-License-Identifier: MIT */
/* How an event of each kind is written; the parts of events.c. The time is that of the lane. */
#ifndef QMPI_TRACE_OTF2_WRITING_H
#define QMPI_TRACE_OTF2_WRITING_H

#include "trace/otf2/functions.h"
#include "trace/otf2/lane.h"
#include "trace/otf2/part.h"
#include "trace/otf2/source.h"
#include "trace/pending.h"

/* Kinds of requests of which something is known; of messages and collectives nothing need be. The
 * object is a window or file, the value the number of the access in the archive. */
enum {
    WRITING_IGNORED = TRACE_REQUEST_FREE + 1, /* it is not in the archive */
    WRITING_ACCESS,                           /* one-sided */
    WRITING_FILE
};

struct writing {
    const struct archive_source *source;
    const struct trace_process *process;
    struct archive_part *part;
    struct archive_function *functions;
    struct archive_lane *lanes;
    size_t lane_count;
    struct writing_region {
        uint32_t lane; /* in which it is open */
        size_t count;  /* how often it has begun and not ended */
    } * regions;
    struct trace_pending requests;
    OTF2_AttributeList *attributes;
    uint64_t matching; /* the last number of an access */
    bool failed;       /* memory is exhausted */
};

/* A time in the archive, which is not before that of the last event of a lane. */
OTF2_TimeStamp writing_time(const struct writing *it, const struct archive_lane *lane,
                            int64_t time);

/* Requests of which something is known. What was removed has the kind TRACE_REQUEST_FREE if nothing
 * was.
 */
void writing_remember(struct writing *it, const struct trace_event *event,
                      const struct trace_request *request);
struct trace_request writing_forget(struct writing *it, uint64_t number);
struct trace_request writing_find(const struct writing *it, uint64_t number);

/* TRACE_ISEND, TRACE_IRECV_REQUEST */
void writing_begin_request(struct writing *it, struct archive_lane *lane,
                           const struct trace_event *event);
/* TRACE_SEND, TRACE_RECV */
void writing_message(struct writing *it, struct archive_lane *lane,
                     const struct trace_event *event);
/* TRACE_IRECV */
void writing_receive(struct writing *it, struct archive_lane *lane,
                     const struct trace_event *event);
void writing_test(struct writing *it, struct archive_lane *lane, const struct trace_event *event);
void writing_cancel(struct writing *it, struct archive_lane *lane, const struct trace_event *event);

void writing_begin_collective(struct archive_lane *lane, const struct trace_event *event);
void writing_end_collective(struct writing *it, struct archive_lane *lane,
                            const struct trace_event *event);
/* TRACE_ICOLLECTIVE_… */
void writing_nonblocking(struct writing *it, struct archive_lane *lane,
                         const struct trace_event *event);

/* One-sided */
void writing_access(struct writing *it, struct archive_lane *lane, const struct trace_event *event);
void writing_complete_access(struct writing *it, struct archive_lane *lane,
                             const struct trace_event *event);

/* TRACE_IO_REQUEST, TRACE_IO. Blocking accesses begin with their call, where that is possible. */
void writing_file_event(struct writing *it, struct archive_lane *lane,
                        const struct trace_event *event);
void writing_file_access(struct writing *it, struct archive_lane *lane,
                         const struct trace_event *event);

/* What is made and freed; counters, and what is missing. */
void writing_object(struct writing *it, struct archive_lane *lane, const struct trace_event *event);
void writing_state(struct writing *it, struct archive_lane *lane, const struct trace_event *event);

#endif
