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
    const bool is_int = call->function->parameters[MESSAGE_COUNT].kind == QMPIX_KIND_INT;
    const MPI_Count count = is_int ? *(const int *)call->arguments[MESSAGE_COUNT]
                                   : *(const MPI_Count *)call->arguments[MESSAGE_COUNT];
    PMPI_Type_size_x(*(const MPI_Datatype *)call->arguments[MESSAGE_TYPE], &size);
    return (uint64_t)(count * size);
}

/* Of a call of MPI_Send_init or MPI_Ssend_init. */
static bool may_wait_when_started(const QMPIX_Call *call)
{
    return call->function->name[sizeof "MPI_S" - 1] == 's' || size_of(call) >= SENDS_LARGE;
}

void sends_post(struct layer *layer, const QMPIX_Call *call, uint64_t bytes)
{
    enum { REQUEST = MESSAGE_COMM + 1 };
    const int peer = *(const int *)call->arguments[MESSAGE_PEER];
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[MESSAGE_COMM];
    const uint64_t handle = HANDLE_WORD(**(MPI_Request *const *)call->arguments[REQUEST]);
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
    send->peer = peer_waits_world(comm, peer);
    send->epoch = __atomic_load_n(&layer->receives.epoch, __ATOMIC_ACQUIRE);
    receives_publish(send, handle);
}
