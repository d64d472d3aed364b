/* SPDX-License-Identifier: MIT */
/* See accesses.h. */
#include "record/accesses.h"

#include "record/objects.h"
#include "record/values.h"

void accesses_put(struct recorder *recorder, const QMPIX_Call *call, uint64_t request,
                  uint64_t ticks)
{
    const struct traits *traits = &traits_all[call->function->number];
    struct trace_event event;
    MPI_Count sent = 0, received = 0;
    int peer = MPI_PROC_NULL;
    QMPIX_Call_get_bytes(call, &sent, &received);
    QMPIX_Call_get_peer(call, &peer, NULL, NULL);
    trace_event_clear(&event,
                      traits->is_atomic ? TRACE_RMA_ATOMIC
                      : traits->is_get  ? TRACE_RMA_GET
                                        : TRACE_RMA_PUT,
                      ticks);
    event.object = objects_window(recorder, call, traits->window);
    event.peer = value_of_peer(peer);
    event.bytes = (uint64_t)sent;
    event.received = (uint64_t)received;
    event.request = request;
    recorder_put_event(recorder, &event);
}
