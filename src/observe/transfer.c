/* SPDX-License-Identifier: MIT */
/*
 * The messages of a call and their peers, its communicator and its root: see <qmpi/observer.h>.
 * Their bytes come from size.c, the peers' ranks in the world from comm_info.c.
 */
#include "observe/comm_info.h"
#include "observe/persistent.h"
#include "observe/size.h"

static int tag_of(const QMPIX_Call *call, int role)
{
    return role ? QMPI_ARGUMENT(call, role, int) : MPI_UNDEFINED;
}

/* What the status knows better than the arguments: MPI_ANY_SOURCE, MPI_ANY_TAG. */
static void ask_status(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const MPI_Status *status = qmpi_amount_status(call);
    if (status && transfer->peer != MPI_PROC_NULL && !meaning->window) {
        transfer->peer = status->MPI_SOURCE;
        transfer->tag = status->MPI_TAG;
    }
}

static void find_world(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const struct qmpi_matched *matched = qmpi_amount_matched(call);
    const struct qmpi_processes *processes = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    transfer->world = MPI_UNDEFINED;
    if (transfer->peer < 0)
        return; /* MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_UNDEFINED */
    if (meaning->comm)
        comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    else if (matched)
        comm = matched->comm;
    if (comm != MPI_COMM_NULL)
        processes = qmpi_processes_of_comm(comm);
    else if (meaning->window)
        processes = qmpi_processes_of_window(QMPI_ARGUMENT(call, meaning->window, MPI_Win));
    if (processes)
        transfer->world = qmpi_processes_world(processes, transfer->peer);
}

static bool has_messages(unsigned group)
{
    return group == QMPIX_GROUP_POINT_TO_POINT || group == QMPIX_GROUP_ONE_SIDED;
}

int qmpi_amount_transfers(const QMPIX_Call *call, QMPIX_Transfer transfers[2], int *count)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const struct qmpi_matched *matched = qmpi_amount_matched(call);
    int result = MPI_SUCCESS;
    *count = 0;
    if (!has_messages(call->function->group))
        return MPI_SUCCESS;
    if (meaning->send_type) {
        QMPIX_Transfer *transfer = &transfers[(*count)++];
        *transfer = (QMPIX_Transfer){.sending = 1,
                                     .peer = QMPI_ARGUMENT(call, meaning->destination, int),
                                     .tag = tag_of(call, meaning->send_tag)};
        result = qmpi_amount_sent(call, &transfer->bytes);
        find_world(call, transfer);
    }
    if (meaning->receive_type && result == MPI_SUCCESS) {
        QMPIX_Transfer *transfer = &transfers[(*count)++];
        *transfer = (QMPIX_Transfer){
            .sending = 0,
            .peer = matched ? matched->source : QMPI_ARGUMENT(call, meaning->source, int),
            .tag = matched ? matched->tag : tag_of(call, meaning->receive_tag)};
        result = qmpi_amount_received(call, &transfer->bytes);
        ask_status(call, transfer);
        find_world(call, transfer);
    }
    return result;
}
