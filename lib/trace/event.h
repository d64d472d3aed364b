/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace, as the tool records them and as readers get them.
 *
 * Events belong to a location: a thread of a process. The events of a location are in the order of
 * their times, and calls are properly nested: each TRACE_LEAVE ends the call that the last
 * TRACE_ENTER without an end began. What a call does (messages, requests, collectives, …) is told
 * by events between the two: what begins with the call directly after its TRACE_ENTER and with its
 * time, what ends with it directly before its TRACE_LEAVE and with the time of that.
 */
#ifndef QMPI_TRACE_EVENT_H
#define QMPI_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum trace_kind {
    /* A call: `function`, `site`. */
    TRACE_ENTER,
    TRACE_LEAVE,

    /* Messages: `comm` (TRACE_NONE if it is not known), `peer`, `tag`, `bytes`. A blocking send
     * tells TRACE_SEND when it begins, a blocking receive TRACE_RECV when it has ended. Nonblocking
     * ones have a `request`, which identifies the operation, not the handle: no other operation of
     * the process has it. */
    TRACE_SEND,
    TRACE_RECV,
    TRACE_ISEND,
    TRACE_ISEND_COMPLETE, /* `request` */
    TRACE_IRECV_REQUEST,  /* `request`; `bytes`: of the buffer; the rest as posted, where peer and
                             tag may be TRACE_ANY */
    TRACE_IRECV,          /* the receive has completed: `request`, and the rest as received */
    TRACE_REQUEST_TEST,   /* `request` was tested, and has not completed */
    TRACE_REQUEST_CANCELLED, /* `request` has completed, as cancelled */
    TRACE_REQUEST_FREED,     /* MPI_Request_free: how `request` ends is not seen */

    /* Collectives: `comm`, `root`, `bytes` (sent), `received`. */
    TRACE_COLLECTIVE_BEGIN, /* `comm`, `root` */
    TRACE_COLLECTIVE_END,
    TRACE_ICOLLECTIVE_REQUEST,  /* a nonblocking one: `request`, `comm`, `root` */
    TRACE_ICOLLECTIVE_COMPLETE, /* `request`, and as TRACE_COLLECTIVE_END; `function`: that began it
                                 */

    /* One-sided accesses: `object` (window), `peer` (rank in the group of the window), `bytes` that
     * go to the peer, `received` from it, `request` (MPI_Rput, …) or TRACE_NO_REQUEST.
     */
    TRACE_RMA_PUT,
    TRACE_RMA_GET,
    TRACE_RMA_ATOMIC,   /* accumulate, fetch_and_op, … */
    TRACE_RMA_COMPLETE, /* `request` */

    /* Files: `object` (file), `bytes` (written), `received` (read). Nonblocking ones have a
     * `request`; others TRACE_NO_REQUEST. TRACE_IO is told when the access has ended; for a
     * nonblocking one, when its request has completed. */
    TRACE_IO_REQUEST, /* `object`, `request` */
    TRACE_IO,

    /* Objects: directly before the TRACE_LEAVE, or after the TRACE_ENTER, of the call. */
    TRACE_COMM_CREATE,  /* `comm` */
    TRACE_COMM_DESTROY, /* `comm` */
    TRACE_WIN_CREATE,   /* `object` */
    TRACE_WIN_DESTROY,
    TRACE_FILE_OPEN, /* `object` */
    TRACE_FILE_CLOSE,

    /* Regions of the program (MPI_Pcontrol): `object`. They may overlap, and belong to the process.
     */
    TRACE_REGION_BEGIN,
    TRACE_REGION_END,

    /* `object`: a counter; `value`. */
    TRACE_COUNTER,

    /* What is missing. */
    TRACE_OFF, /* from here on, recording is off (switched off, MPI_Pcontrol(0), outside a window) …
                */
    TRACE_ON,          /* … until here. Calls that were in progress are ended and begun again */
    TRACE_DROPPED,     /* `bytes` events (not bytes) were lost here: there was no memory left */
    TRACE_FLUSH,       /* from `time` on, the tool kept the thread for `bytes` ticks: it waited for
                          memory, or the tool prepared the trace */
    TRACE_INTERRUPTED, /* the call in progress was left by longjmp or an exception; ends like
                          TRACE_LEAVE */

    /* The communicator `comm`, or the file `object`, of a call of which no other event tells it. */
    TRACE_CALL_OBJECT,

    TRACE_KINDS
};

/* Of an index or a request: there is none. */
#define TRACE_NONE UINT32_MAX
#define TRACE_NO_REQUEST UINT64_MAX

/* Special values of `peer`, `tag` and `root`, whatever those of the MPI library are. */
enum {
    TRACE_ANY = -1,       /* MPI_ANY_SOURCE, MPI_ANY_TAG */
    TRACE_PROC_NULL = -2, /* MPI_PROC_NULL */
    TRACE_ROOT_SELF = -3, /* MPI_ROOT */
    TRACE_UNDEFINED = -4  /* none, or not known */
};

struct trace_event {
    enum trace_kind kind;
    uint64_t ticks; /* on the clock of the process: exact, and in the order of the location */
    int64_t time; /* readers only: on the clock of rank 0, in nanoseconds since `base` of the trace
                   */
    uint32_t location; /* index of the thread in the process */
    uint32_t function; /* index of a function of the process; TRACE_NONE: does not apply */
    uint32_t site;     /* index of a call site; TRACE_NONE: not recorded */
    uint32_t comm;     /* index of a communicator; TRACE_NONE: does not apply */
    uint32_t object;   /* index of a window, file, region or counter, according to `kind` */
    int32_t peer;      /* rank in `comm` (in the remote group of an intercommunicator) */
    int32_t tag;
    int32_t root;
    uint64_t request;
    uint64_t bytes, received;
    double value;
    bool is_known; /* TRACE_ENTER, readers only: whether a TRACE_LEAVE (or TRACE_INTERRUPTED)
                      follows; not where a process was killed in the call: it lasted until
                      `end_ticks` */
};

/* Members that do not apply to a kind have the values that this sets. */
void trace_event_clear(struct trace_event *event, enum trace_kind kind, uint64_t ticks);

#endif
