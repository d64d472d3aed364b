/* SPDX-License-Identifier: MIT */
/*
 * The operations behind the requests of the program: what a call has started is recorded when
 * another one completes it. An operation has a number of its own, because handles are used again at
 * once, and several requests may share one: of those, the oldest completes first.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_REQUESTS_H
#define QMPI_TOOL_TRACE_RECORD_REQUESTS_H

#include "toolkit/toolkit.h"
#include "trace/trace.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

struct layer;
struct recorder;

enum operation_kind {
    OPERATION_SEND,
    OPERATION_RECEIVE,
    OPERATION_BOTH, /* MPI_Isendrecv: two numbers */
    OPERATION_COLLECTIVE,
    OPERATION_RMA,
    OPERATION_IO,
    OPERATION_COPY_COMM,
    OPERATION_OTHER
};

struct operation {
    struct pending pending;
    enum operation_kind kind;
    bool is_persistent, is_active, may_be_cancelled;
    bool is_recorded;         /* that it was started */
    bool is_whole;            /* partitioned: its status need not know the bytes */
    bool reads;               /* OPERATION_IO */
    uint64_t order;           /* in which they were started */
    uint64_t epoch;           /* of the layer: completions were missed since the last one */
    uint64_t request, second; /* numbers */
    uint32_t comm, object;
    int peer, tag, root;
    int send_peer, send_tag; /* of OPERATION_BOTH */
    uint16_t function;
    uint64_t bytes, received;
    const void *created; /* OPERATION_COPY_COMM: where the communicator will be */
};

/*
 * After calls that succeeded of functions with the actions DOES_POST (and other posts), DOES_START:
 * what they have started is recorded. After those with DOES_INIT_…, DOES_CANCEL, DOES_MATCH:
 * nothing is recorded.
 */
void requests_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                   uint64_t ticks);
void requests_start(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks);
void requests_init(struct recorder *recorder, const QMPIX_Call *call);
void requests_cancel(struct recorder *recorder, const QMPIX_Call *call);
void requests_match(struct recorder *recorder, const QMPIX_Call *call);

/* Before a call that receives a message that was matched: `held` of its flight becomes the message.
 * The index of its communicator; TRACE_NONE: not known. */
void requests_hold_message(struct recorder *recorder, struct flight *flight,
                           const QMPIX_Call *call);
uint32_t requests_message_comm(const struct flight *flight);
void requests_end_message(struct flight *flight);

/* Before MPI_Request_free, and after it: the operation is not seen to complete. */
void requests_begin_free(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call);
void requests_end_free(struct recorder *recorder, struct flight *flight, bool has_succeeded,
                       uint64_t ticks);

/* Around a call that may complete requests. `flight` is the call's. */
void requests_hold(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call);
void requests_complete(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                       uint64_t ticks);

/* Instead of requests_complete, and of any other record of the call: if it has tested requests of
 * which none has completed, this is recorded, and true returned. */
bool requests_put_tested(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                         const uint64_t times[2]);

/* The layer was switched off: what completes meanwhile is not seen. */
void requests_lose(struct layer *layer);

#endif
