/* SPDX-License-Identifier: MIT */
/*
 * What <qmpi/observer.h> tells of a call: its bytes, its messages, its communicator and its root.
 * Here alone it matters whether the call starts persistent operations.
 */
#include "observe/persistent.h"
#include "observe/semantics.h"
#include "observe/size.h"

int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received)
{
    struct qmpi_amount amount = {0, 0};
    bool moves;
    if (!call)
        return MPI_ERR_ARG;
    int result = qmpi_amount_check(call, &moves);
    if (result == MPI_SUCCESS && moves) {
        result = qmpi_meaning_of(call)->shape == QMPI_SHAPE_START
                     ? qmpi_persistent_amount(call, &amount)
                     : qmpi_amount_of(call, &amount);
    }
    if (result != MPI_SUCCESS)
        return result;
    if (sent)
        *sent = amount.sent;
    if (received)
        *received = amount.received;
    return MPI_SUCCESS;
}

int QMPIX_Call_for_each_transfer(const QMPIX_Call *call,
                                 void (*each)(void *data, const QMPIX_Transfer *transfer),
                                 void *data)
{
    QMPIX_Transfer transfers[2];
    bool moves;
    int count = 0;
    if (!call || !each)
        return MPI_ERR_ARG;
    int result = qmpi_amount_check(call, &moves);
    if (result != MPI_SUCCESS || !moves)
        return result;
    if (qmpi_meaning_of(call)->shape == QMPI_SHAPE_START)
        return qmpi_persistent_each(call, each, data);
    result = qmpi_amount_transfers(call, transfers, &count);
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        each(data, &transfers[i]);
    return result;
}

struct first {
    bool found;
    QMPIX_Transfer transfer;
};

static void take_first(void *data, const QMPIX_Transfer *transfer)
{
    struct first *first = data;
    if (!first->found)
        *first = (struct first){true, *transfer};
}

int QMPIX_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag)
{
    struct first first = {.found = false};
    const int result = QMPIX_Call_for_each_transfer(call, take_first, &first);
    if (result != MPI_SUCCESS)
        return result;
    if (!first.found)
        return MPI_ERR_ARG;
    if (peer)
        *peer = first.transfer.peer;
    if (world)
        *world = first.transfer.world;
    if (tag)
        *tag = first.transfer.tag;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_comm(const QMPIX_Call *call, MPI_Comm *comm)
{
    if (!call || !comm)
        return MPI_ERR_ARG;
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    if (meaning->shape == QMPI_SHAPE_START)
        return qmpi_persistent_comm(call, comm);
    if (!meaning->comm)
        return MPI_ERR_ARG;
    if (qmpi_meaning_is_array(call, meaning->comm))
        *comm = *QMPI_ARGUMENT(call, meaning->comm, MPI_Comm *);
    else
        *comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_root(const QMPIX_Call *call, int *root)
{
    if (!call || !root || !qmpi_meaning_of(call)->root)
        return MPI_ERR_ARG;
    *root = QMPI_ARGUMENT(call, qmpi_meaning_of(call)->root, int);
    return MPI_SUCCESS;
}
