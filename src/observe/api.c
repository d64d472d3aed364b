/* SPDX-License-Identifier: MIT */
/*
 * What <qmpi/observer.h> tells of a call: its bytes, its messages, its communicator, its root and
 * its time. Here alone it matters whether the call starts persistent operations. Bytes and messages
 * are computed at the first question and stored in the record, for the other observers of a run.
 */
#include "observe/persistent.h"
#include "observe/semantics.h"
#include "observe/size.h"

/* What was computed in `before` does not hold in `after`. */
static bool knows(const QMPIX_Call *call, unsigned what)
{
    struct qmpi_record *record = qmpi_record_of(call);
    if (call->result && !(call->reserved & QMPI_KNOWS_IN_AFTER))
        record->call.reserved = QMPI_KNOWS_IN_AFTER;
    return call->reserved & what;
}

/* Whether a call moves data, and MPI can be queried. */
static int check(const QMPIX_Call *call, bool *moves)
{
    *moves = true;
    if (knows(call, QMPI_KNOWS_MOVES))
        return MPI_SUCCESS;
    const int result = qmpi_amount_check(call, moves);
    if (result == MPI_SUCCESS && *moves)
        qmpi_record_of(call)->call.reserved |= QMPI_KNOWS_MOVES;
    return result;
}

int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received)
{
    bool moves;
    if (!call)
        return MPI_ERR_ARG;
    struct qmpi_amount *amount = &qmpi_record_of(call)->amount;
    if (!knows(call, QMPI_KNOWS_AMOUNT)) {
        *amount = (struct qmpi_amount){0, 0};
        int result = check(call, &moves);
        if (result == MPI_SUCCESS && moves) {
            result = qmpi_meaning_of(call)->shape == QMPI_SHAPE_START
                         ? qmpi_persistent_amount(call, amount)
                         : qmpi_amount_of(call, amount);
        }
        if (result != MPI_SUCCESS)
            return result;
        qmpi_record_of(call)->call.reserved |= QMPI_KNOWS_AMOUNT;
    }
    if (sent)
        *sent = amount->sent;
    if (received)
        *received = amount->received;
    return MPI_SUCCESS;
}

int QMPIX_Call_for_each_transfer(const QMPIX_Call *call,
                                 void (*each)(void *data, const QMPIX_Transfer *transfer),
                                 void *data)
{
    bool moves;
    if (!call || !each)
        return MPI_ERR_ARG;
    struct qmpi_record *record = qmpi_record_of(call);
    if (!knows(call, QMPI_KNOWS_TRANSFERS)) {
        int result = check(call, &moves);
        if (result != MPI_SUCCESS || !moves)
            return result;
        if (qmpi_meaning_of(call)->shape == QMPI_SHAPE_START)
            return qmpi_persistent_each(call, each, data);
        result = qmpi_amount_transfers(call, record->transfers, &record->transfer_count);
        if (result != MPI_SUCCESS)
            return result;
        record->call.reserved |= QMPI_KNOWS_TRANSFERS;
    }
    for (int i = 0; i < record->transfer_count; i++) {
        const QMPIX_Transfer transfer = record->transfers[i];
        each(data, &transfer);
    }
    return MPI_SUCCESS;
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

/* ---- The time of a call -----------------------------------------------------------------------
 */

static bool asked(const QMPIX_Call *call, unsigned flag)
{
    return call->observer->flags & flag;
}

int QMPIX_Call_get_time(const QMPIX_Call *call, uint64_t *begin, uint64_t *end)
{
    if (!call)
        return MPI_ERR_ARG;
    if (!call->result || !asked(call, QMPIX_OBSERVE_TIME))
        return MPI_ERR_OTHER;
    const struct qmpi_record *record = qmpi_record_of(call);
    if (begin)
        *begin = record->begin;
    if (end)
        *end = record->end;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_entry_time(const QMPIX_Call *call, uint64_t *time)
{
    if (!call || !time)
        return MPI_ERR_ARG;
    if (!asked(call, QMPIX_OBSERVE_ENTRY_TIME))
        return MPI_ERR_OTHER;
    *time = qmpi_record_of(call)->entry;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_begin_address(const QMPIX_Call *call, const uint64_t **begin)
{
    if (!call || !begin)
        return MPI_ERR_ARG;
    if (!asked(call, QMPIX_OBSERVE_TIME))
        return MPI_ERR_OTHER;
    *begin = &qmpi_record_of(call)->begin;
    return MPI_SUCCESS;
}
