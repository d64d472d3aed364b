/* SPDX-License-Identifier: MIT */
/* See kinds.h and event.h: what the events of each kind tell. */
#include "trace/kinds.h"

#define MESSAGE (FIELD(COMM) | FIELD(PEER) | FIELD(TAG) | FIELD(BYTES))
#define ACCESS (FIELD(OBJECT) | FIELD(BYTES) | FIELD(RECEIVED) | FIELD(REQUEST))
#define BEGINS (FIELD(REQUEST) | FIELD(BEGINS))
#define COLLECTIVE (FIELD(COMM) | FIELD(ROOT) | FIELD(BYTES) | FIELD(RECEIVED))

const uint32_t trace_kind_fields[TRACE_KINDS] = {
    [TRACE_ENTER] = FIELD(FUNCTION) | FIELD(SITE),
    [TRACE_SEND] = MESSAGE,
    [TRACE_RECV] = MESSAGE,
    [TRACE_ISEND] = MESSAGE | BEGINS,
    [TRACE_ISEND_COMPLETE] = FIELD(REQUEST),
    [TRACE_IRECV_REQUEST] = MESSAGE | BEGINS,
    [TRACE_IRECV] = MESSAGE | FIELD(REQUEST),
    [TRACE_REQUEST_TEST] = FIELD(REQUEST),
    [TRACE_REQUEST_CANCELLED] = FIELD(REQUEST),
    [TRACE_REQUEST_FREED] = FIELD(REQUEST),
    [TRACE_COLLECTIVE_BEGIN] = FIELD(COMM) | FIELD(ROOT),
    [TRACE_COLLECTIVE_END] = COLLECTIVE,
    [TRACE_ICOLLECTIVE_REQUEST] = FIELD(COMM) | FIELD(ROOT) | BEGINS,
    [TRACE_ICOLLECTIVE_COMPLETE] = COLLECTIVE | FIELD(FUNCTION) | FIELD(REQUEST),
    [TRACE_RMA_PUT] = ACCESS | FIELD(PEER) | BEGINS,
    [TRACE_RMA_GET] = ACCESS | FIELD(PEER) | BEGINS,
    [TRACE_RMA_ATOMIC] = ACCESS | FIELD(PEER) | BEGINS,
    [TRACE_RMA_COMPLETE] = FIELD(REQUEST),
    [TRACE_IO_REQUEST] = FIELD(OBJECT) | BEGINS,
    [TRACE_IO] = ACCESS,
    [TRACE_COMM_CREATE] = FIELD(COMM),
    [TRACE_COMM_DESTROY] = FIELD(COMM),
    [TRACE_WIN_CREATE] = FIELD(OBJECT),
    [TRACE_WIN_DESTROY] = FIELD(OBJECT),
    [TRACE_FILE_OPEN] = FIELD(OBJECT),
    [TRACE_FILE_CLOSE] = FIELD(OBJECT),
    [TRACE_REGION_BEGIN] = FIELD(OBJECT),
    [TRACE_REGION_END] = FIELD(OBJECT),
    [TRACE_COUNTER] = FIELD(OBJECT) | FIELD(VALUE),
    [TRACE_DROPPED] = FIELD(BYTES),
    [TRACE_FLUSH] = FIELD(BYTES),
    [TRACE_CALL_OBJECT] = FIELD(COMM) | FIELD(OBJECT),
};

void trace_event_clear(struct trace_event *event, enum trace_kind kind, uint64_t ticks)
{
    *event = (struct trace_event){.kind = kind,
                                  .ticks = ticks,
                                  .function = TRACE_NONE,
                                  .site = TRACE_NONE,
                                  .comm = TRACE_NONE,
                                  .object = TRACE_NONE,
                                  .peer = TRACE_UNDEFINED,
                                  .tag = TRACE_UNDEFINED,
                                  .root = TRACE_UNDEFINED,
                                  .request = TRACE_NO_REQUEST};
}
