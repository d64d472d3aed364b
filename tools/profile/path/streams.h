/* SPDX-License-Identifier: MIT */
/*
 * Which clock belongs to which message. A stream is what one process sends to another one on one
 * communicator with one tag. MPI delivers the messages of a stream in the order in which they are
 * sent, and to receives in the order in which these are posted; and so it does with the clocks, on
 * the shadow. A receive that completes has therefore taken that message of its stream which comes
 * after those of the receives that were posted before it and have not been seen to complete.
 *
 * A clock is received when its message has been: it was sent before the message, so that no receive
 * of a clock waits for more than its way. Receives from any source and of any tag are thus resolved
 * before their clock is received.
 *
 * All functions: under the lock of the path.
 */
#ifndef QMPI_TOOL_PROFILE_PATH_STREAMS_H
#define QMPI_TOOL_PROFILE_PATH_STREAMS_H

#include "path/comms.h"
#include "path/requests.h"

/* A clock that has been received before a message of its stream was seen to have been. */
struct path_value {
    uint64_t value;
    struct path_value *next;
};

struct path_stream {
    struct path_comm *comm;
    int source, tag;
    struct path_request *first, *last; /* posted receives */
    struct path_value *values;         /* in the order in which they were sent */
    struct path_stream *next;          /* in the bucket, or unused */
};

enum { PATH_STREAM_BITS = 8 };
struct path_streams {
    struct path_stream *buckets[1 << PATH_STREAM_BITS], *unused;
    struct path_value *unused_values;
    struct path_requests *requests; /* that give up receives with is_freed */
    uint64_t posted;
    bool is_threaded; /* the order in which receives are posted is not known for certain */
    bool asking_ends; /* a persistent request whose status is asked for */
};

/* A receive is posted. If the program frees its request, is_freed is to be set: it will still take
 * a message. */
void path_stream_post(struct path_streams *streams, struct path_request *receive);

/* It is not waited for any more: it took no message. */
void path_stream_withdraw(struct path_streams *streams, struct path_request *receive);

/* Finds out what a posted receive has taken that may have completed, without completing its
 * request: sets is_resolved. */
void path_stream_resolve(struct path_request *receive);

/* Returns the clock of the message that a receive has taken, and forgets the receive. NULL: it was
 * posted last, and is not among the posted ones. */
uint64_t path_stream_take(struct path_streams *streams, struct path_comm *comm, int source, int tag,
                          struct path_request *receive);

#endif
