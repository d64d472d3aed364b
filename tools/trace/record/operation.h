/* SPDX-License-Identifier: MIT */
/*
 * An operation is started by one call and completed by another one. There are nonblocking and
 * persistent operations, which the program knows by their requests, and messages between MPI_Mprobe
 * and MPI_Mrecv. Each operation has a number of its own because MPI reuses handles. Several
 * requests may share one handle, and then the oldest of these operations completes first.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_OPERATION_H
#define QMPI_TOOL_TRACE_RECORD_OPERATION_H

#include "toolkit/toolkit.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/name.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

struct layer;
struct recorder;

enum operation_kind {
    OPERATION_SEND,
    OPERATION_RECEIVE,
    OPERATION_BOTH, /* MPI_Isendrecv, which has two request numbers */
    OPERATION_COLLECTIVE,
    OPERATION_RMA,
    OPERATION_IO,
    /* The following kinds have no events for their requests. */
    OPERATION_COPY_COMM,
    OPERATION_OTHER
};

struct operation {
    struct pending pending;
    enum operation_kind kind;
    bool is_persistent, is_active, may_be_cancelled;
    bool is_recorded; /* The start of the operation was recorded. */
    /* The operation is partitioned, so its bytes are not taken from the status. */
    bool is_whole;
    bool reads;               /* for OPERATION_IO only */
    uint64_t order;           /* position in the order in which operations were started */
    uint64_t epoch;           /* epoch of the layer when the operation was started */
    uint64_t request, second; /* numbers of requests, or TRACE_NO_REQUEST */
    uint32_t comm, object;    /* indices, or TRACE_NONE if not known */
    int peer, tag, root;
    int send_peer, send_tag; /* for OPERATION_BOTH only */
    uint16_t function;
    uint64_t bytes, received;
    /* For OPERATION_COPY_COMM, this is the address of the handle of the new communicator. */
    const void *created;
};

/* ---- After a call that has succeeded --------------------------------------------------------- */

/* Records that an operation starts. This function is for DOES_POST and its variants, and for
 * DOES_RMA with a request. */
void operation_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                    uint64_t ticks);

/* Records that persistent operations start. This function is for DOES_START. */
void operation_start(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks);

/* Remembers a persistent operation. This function is for DOES_INIT_MESSAGE and DOES_INIT_OTHER. */
void operation_init(struct recorder *recorder, const QMPIX_Call *call);

/* Notes that an operation may be cancelled when it completes. This function is for DOES_CANCEL. */
void operation_cancel(struct recorder *recorder, const QMPIX_Call *call);

/* Remembers the communicator of a matched message. This function is for DOES_MATCH. */
void operation_match_message(struct recorder *recorder, const QMPIX_Call *call);

/* Describes a one-sided access. `request` is the number of its request, or TRACE_NO_REQUEST. */
void operation_describe_access(struct recorder *recorder, const QMPIX_Call *call, uint64_t request,
                               uint64_t ticks, struct trace_event *event);

/* ---- Around a call --------------------------------------------------------------------------- */

/*
 * These functions are called before and after a call that may complete requests. `flight` is the
 * call in progress (toolkit/flights.h), and its member `held` becomes the list of the call's
 * operations. The second function records the operations that are complete, were cancelled or were
 * found incomplete.
 */
void operation_hold(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call);
void operation_complete_held(struct recorder *recorder, struct flight *flight,
                             const QMPIX_Call *call, uint64_t ticks);

/* If a call holds operations and has found their requests incomplete, and one record suffices for
 * them (at most 255 recorded operations), makes the record of the call and returns true. The caller
 * must then neither call operation_complete_held nor record the call otherwise. `times` contains
 * the begin and the end of the call. */
bool operation_put_tests(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                         const uint64_t times[2]);

/* These functions are called before and after MPI_Request_free. The second function records that
 * the completion of the operation will not be seen. */
void operation_begin_free(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call);
void operation_end_free(struct recorder *recorder, struct flight *flight, bool has_succeeded,
                        uint64_t ticks);

/* These functions are called before and after a call that receives a matched message. During the
 * call, the member `held` of the flight is the message. */
void operation_begin_receive(struct recorder *recorder, struct flight *flight,
                             const QMPIX_Call *call);
void operation_end_receive(struct flight *flight);

/* Returns the index of the communicator of the message that the call is receiving, or TRACE_NONE if
 * it is not known. `flight` is this call. */
uint32_t operation_message_comm(const struct flight *flight);

/* Forgets all operations that have started, because completions may be missed while the layer is
 * switched off. Persistent operations can be started again. */
void operation_forget_all(struct layer *layer);

#endif
