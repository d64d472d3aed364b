/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace, as the tool records them and readers return them.
 *
 * Each event belongs to a location, which is a thread of a process. The events of a location are
 * ordered by time, and calls are properly nested: each TRACE_LEAVE ends the call of the last
 * TRACE_ENTER that has no end yet. The events between the two describe what the call does
 * (messages, requests, collectives, …). Events at the beginning of the call directly follow its
 * TRACE_ENTER and have the same time. Events at its end directly precede its TRACE_LEAVE and have
 * the time of this TRACE_LEAVE.
 */
#ifndef QMPI_TRACE_FILE_EVENT_H
#define QMPI_TRACE_FILE_EVENT_H

#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stdint.h>

enum trace_event_kind {
    /* A call, with `function` and `site`. */
    TRACE_ENTER,
    TRACE_LEAVE,

    /* Messages, with `comm` (TRACE_NONE if it is unknown), `peer`, `tag` and `bytes`. TRACE_SEND is
     * recorded when a blocking send begins, TRACE_RECV when a blocking receive has ended.
     * Nonblocking operations have a `request`. It is not the handle but a number, which no other
     * operation of the process has. */
    TRACE_SEND,
    TRACE_RECV,
    TRACE_ISEND,
    TRACE_ISEND_COMPLETE, /* `request` */
    TRACE_IRECV_REQUEST,  /* with `request`, the `bytes` of the buffer, and the other members as
                             posted: peer and tag may be TRACE_ANY */
    TRACE_IRECV, /* the receive has completed; with `request` and the other members as received */
    TRACE_REQUEST_TEST,      /* `request` was tested, and has not completed */
    TRACE_REQUEST_CANCELLED, /* `request` was cancelled and has completed */
    TRACE_REQUEST_FREED,     /* MPI_Request_free was called, so the end of `request` will not be
                                recorded */

    /* Collectives. */
    TRACE_COLLECTIVE_BEGIN,     /* with `comm` and `root` */
    TRACE_COLLECTIVE_END,       /* with `comm`, `root`, `bytes` (sent) and `received` */
    TRACE_ICOLLECTIVE_REQUEST,  /* a nonblocking collective; with `request`, `comm` and `root`
                                 */
    TRACE_ICOLLECTIVE_COMPLETE, /* with `request`, the members of TRACE_COLLECTIVE_END, and the
                                   `function` that began the collective */

    /* One-sided accesses, with `object` (window), `peer` (rank in the group of the window), `bytes`
     * (sent to the peer), `received` (from the peer), and `request` (MPI_Rput, …; TRACE_NO_REQUEST
     * for other functions). */
    TRACE_RMA_PUT,
    TRACE_RMA_GET,
    TRACE_RMA_ATOMIC,   /* accumulate, fetch_and_op, … */
    TRACE_RMA_COMPLETE, /* with `request` only */

    /* Files, with `object` (file), `bytes` (written) and `received` (read). Nonblocking accesses
     * have a `request`, others TRACE_NO_REQUEST. TRACE_IO is recorded when the access has ended;
     * for nonblocking accesses, this is when the request has completed. */
    TRACE_IO_REQUEST, /* with `object` and `request` only */
    TRACE_IO,

    /* Objects. These events directly precede the TRACE_LEAVE of the call, or directly follow its
     * TRACE_ENTER. */
    TRACE_COMM_CREATE,  /* `comm` */
    TRACE_COMM_DESTROY, /* `comm` */
    TRACE_WIN_CREATE,   /* `object` */
    TRACE_WIN_DESTROY,
    TRACE_FILE_OPEN, /* `object` */
    TRACE_FILE_CLOSE,

    /* Regions of the program (MPI_Pcontrol), with `object`. They belong to the process, and may
     * overlap. */
    TRACE_REGION_BEGIN,
    TRACE_REGION_END,

    /* A counter, with `object` and `value`. */
    TRACE_COUNTER,

    /* Missing parts. */
    TRACE_OFF, /* recording is off from here on (switched off, MPI_Pcontrol(0), outside a window of
                  time) … */
    TRACE_ON,  /* … up to here. Calls in progress end before the gap and begin again after it */
    TRACE_DROPPED,     /* `bytes` events (not bytes) were lost here, because memory was exhausted;
                          readers also return it where the file is damaged */
    TRACE_FLUSH,       /* from `time` on, the tool delayed the thread for `bytes` ticks, because the
                          thread waited for memory or prepared the trace */
    TRACE_INTERRUPTED, /* instead of TRACE_LEAVE: the call in progress was left by longjmp or an
                          exception */

    /* The communicator `comm` or the file `object` of a call, if no other event of the call
     * contains this object. */
    TRACE_CALL_OBJECT,

    TRACE_KINDS
};

/* The values of an index and of a request if there is none. */
#define TRACE_NONE UINT32_MAX
#define TRACE_NO_REQUEST UINT64_MAX

/* Special values of `peer`, `tag` and `root`. They do not depend on the MPI library. */
enum {
    TRACE_ANY = -1,       /* MPI_ANY_SOURCE, MPI_ANY_TAG */
    TRACE_PROC_NULL = -2, /* MPI_PROC_NULL */
    TRACE_ROOT_SELF = -3, /* MPI_ROOT */
    TRACE_UNDEFINED = -4  /* none, or unknown */
};

struct trace_event {
    enum trace_event_kind kind;
    /* On the clock of the process; exact, and never decreasing within the location. */
    uint64_t ticks;
    int64_t time; /* set for readers only: on the clock of rank 0, in nanoseconds since `base` of
                     the trace */
    uint32_t location; /* index of the thread in the process */
    uint32_t function; /* index of a function of the process, or TRACE_NONE */
    uint32_t site;     /* index of a call site, or TRACE_NONE if it was not recorded */
    uint32_t comm;     /* index of a communicator, or TRACE_NONE */
    uint32_t object;   /* index of a window, file, region or counter, according to `kind` */
    int32_t peer; /* rank in `comm` (in the remote group of an intercommunicator), or in the group
                     of the window */
    int32_t tag;
    int32_t root;
    uint64_t request;
    uint64_t bytes, received;
    double value;
    bool is_known; /* set for readers only, in TRACE_ENTER: whether the end of the call follows. It
                      does not follow if the process ended in the call, which then lasts until
                      `end_ticks` of the process */
};

/* Fields are the members of struct trace_event that apply only to some kinds. The numbers of fields
 * and kinds are part of the format, so new ones are added at the end. */
enum trace_event_field {
    TRACE_FIELD_FUNCTION,
    TRACE_FIELD_SITE,
    TRACE_FIELD_COMM,
    TRACE_FIELD_OBJECT,
    TRACE_FIELD_PEER,
    TRACE_FIELD_TAG,
    TRACE_FIELD_ROOT,
    TRACE_FIELD_BYTES,
    TRACE_FIELD_RECEIVED,
    TRACE_SHAPE_FIELDS, /* the fields above are part of a shape (see event_codec.c); the numbers
                           below 16 are for more of these */
    TRACE_FIELD_REQUEST = 16,
    TRACE_FIELD_VALUE,
    TRACE_FIELD_BEGINS, /* not a member: the event begins its request. Without this bit, it
                           completes, tests or frees the request */
};

#define TRACE_FIELD_BIT(name) (UINT32_C(1) << TRACE_FIELD_##name)

/* The bits of the fields that apply, indexed by kind. */
extern const uint32_t trace_event_fields[TRACE_KINDS];

/* Initializes an event. All members that apply only to some kinds get the values which mean that
 * they do not apply. */
void trace_event_clear(struct trace_event *event, enum trace_event_kind kind, uint64_t ticks);

/* Checks the references of an event to objects of the process, so that readers need not check them.
 * An undefined site or function becomes TRACE_NONE, except that the function of a TRACE_ENTER
 * becomes `unknown`. Returns false if the event is still invalid, as is a TRACE_ENTER without
 * function. */
bool trace_event_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_event *event);

/* Returns the rank in MPI_COMM_WORLD of a rank (`peer`, `root`) in a communicator, or in its remote
 * group if it has one. Returns TRACE_UNDEFINED if it is unknown or `rank` is a special value. */
int trace_event_world_rank(const struct trace_process *process, uint32_t comm, int rank);

#endif
