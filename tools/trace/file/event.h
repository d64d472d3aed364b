/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace, as the tool records them and as readers get them.
 *
 * Events belong to a location: a thread of a process. The events of a location are in the order of
 * their times, and calls are properly nested: each TRACE_LEAVE ends the call that the last
 * TRACE_ENTER without an end began. Events between the two tell what a
 * call does (messages, requests, collectives, …): what begins with the call follows its TRACE_ENTER
 * directly and has its time; what ends with it precedes its TRACE_LEAVE directly and has that time.
 */
#ifndef QMPI_TRACE_FILE_EVENT_H
#define QMPI_TRACE_FILE_EVENT_H

#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stdint.h>

enum trace_event_kind {
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
    TRACE_ICOLLECTIVE_COMPLETE, /* `request`, as TRACE_COLLECTIVE_END; `function` that began it */

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

    /* The communicator `comm`, or the file `object`, of a call whose other events do not tell it.
     */
    TRACE_CALL_OBJECT,

    TRACE_KINDS
};

/* The values of an index and of a request if there is none. */
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
    enum trace_event_kind kind;
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

/* Fields: members of struct trace_event, which apply to some kinds. The numbers of the fields, and
 * those of the kinds, are part of the format: new ones are added at the end. */
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
    TRACE_SHAPE_FIELDS, /* what follows is not part of a shape: see event_codec.c */
    TRACE_FIELD_REQUEST = 16,
    TRACE_FIELD_VALUE,
    TRACE_FIELD_BEGINS, /* no member: the request begins, others complete or are tested */
};

#define TRACE_FIELD_BIT(name) (UINT32_C(1) << TRACE_FIELD_##name)

/* By kind: the bits of the fields that apply. */
extern const uint32_t trace_event_fields[TRACE_KINDS];

/* Sets the members that do not apply to a kind to values that say so. */
void trace_event_clear(struct trace_event *event, enum trace_event_kind kind, uint64_t ticks);

/* Makes the best of what is not defined in the process, so that readers need not check it: a site
 * becomes TRACE_NONE, and the function of a call `unknown`, if that is not TRACE_NONE. Returns
 * false if that does not suffice. */
bool trace_event_is_valid(const struct trace_process *process, uint32_t unknown,
                          struct trace_event *event);

/* The rank in MPI_COMM_WORLD of a rank (`peer`, `root`) in a communicator of a process: in its
 * remote group, if it has one. TRACE_UNDEFINED if that is not known, and for special values. */
int trace_event_world_rank(const struct trace_process *process, uint32_t comm, int rank);

#endif
