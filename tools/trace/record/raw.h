/* SPDX-License-Identifier: MIT */
/*
 * What threads record, as they record it: records of a fixed layout, one after the other, which the
 * writer translates to events later (write/translate.h). A call with nothing in it is one record; a
 * call that other records belong to is an OPEN record, these, and a CLOSE record. The records of a
 * stream are in the order of time.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_RAW_H
#define QMPI_TOOL_TRACE_RECORD_RAW_H

#include "trace/trace.h"

#include <stdint.h>

enum raw_kind {
    RAW_CALL,    /* struct raw_head: `ticks` to `end` */
    RAW_SEND,    /* struct raw_message: the same, which sends */
    RAW_RECEIVE, /* or receives a message */
    RAW_TESTS,   /* struct raw_tests: the same, which has tested requests in vain */
    RAW_OPEN,    /* struct raw_head: a call began at `ticks`, */
    RAW_CLOSE,   /* ended, */
    RAW_LEFT,    /* or was left by a jump */
    RAW_EVENT    /* struct raw_event */
};

struct raw_head {
    uint64_t ticks;
    uint64_t end;
    uint32_t site;
    uint16_t function; /* number */
    uint8_t kind;      /* enum raw_kind */
    uint8_t event;     /* RAW_EVENT: enum trace_kind; RAW_TESTS: number of requests;
                          RAW_CALL: index of the communicator that is told of the call + 1, or 0 */
};

struct raw_tests {
    struct raw_head head;
    uint64_t requests[];
};

struct raw_message {
    struct raw_head head;
    uint64_t bytes;
    uint32_t comm;
    int32_t peer, tag;
    uint32_t unused;
};

/* Members as those of struct trace_event. `function` of the head: TRACE_ICOLLECTIVE_COMPLETE's;
 * `end` is the request. */
struct raw_event {
    struct raw_head head;
    uint64_t bytes;
    union {
        uint64_t received;
        double value;
    };
    uint32_t comm, object;
    int32_t peer, tag, root;
    uint32_t unused;
};

enum { RAW_NO_FUNCTION = UINT16_MAX };

#endif
