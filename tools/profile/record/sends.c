/* SPDX-License-Identifier: MIT */
/* See sends.h. */
#include "record/sends.h"

#include "layer.h"
#include "record/message.h"
#include "record/peer_waits.h"
#include "record/receives_parts.h"
#include "toolkit/toolkit.h"

/* Of a persistent send. */
static uint64_t size_of(const QMPIX_Call *call)
{
    MPI_Count size = 0;
    PMPI_Type_size_x(argument_type(call, MESSAGE_TYPE), &size);
    return (uint64_t)(argument_count(call, MESSAGE_COUNT) * size);
}

/* Of a call of MPI_Send_init or MPI_Ssend_init. */
static bool may_wait_when_started(const QMPIX_Call *call)
{
    return call->function->name[sizeof "MPI_S" - 1] == 's' || size_of(call) >= SENDS_LARGE;
}

void sends_post(struct layer *layer, const QMPIX_Call *call, uint64_t bytes)
{
    enum { REQUEST = MESSAGE_COMM + 1 };
    const int peer = argument_int(call, MESSAGE_PEER);
    const uint64_t handle = argument_element_word(call, REQUEST, 0);
    const bool persistent = traits_all[call->function->number].sends == SENDS_WHEN_STARTED;
    if (peer == MPI_PROC_NULL || (persistent && !may_wait_when_started(call)))
        return;
    struct receive *send = receives_take(&layer->receives, handle);
    if (!send)
        return;
    receives_complete_now(send);
    send->is_send = true;
    send->persistent = persistent;
    send->active = !persistent;
    send->size = persistent ? size_of(call) : bytes;
    send->peer = peer_waits_world(argument_comm(call, MESSAGE_COMM), peer);
    send->epoch = __atomic_load_n(&layer->receives.epoch, __ATOMIC_ACQUIRE);
    receives_publish(send, handle);
}
