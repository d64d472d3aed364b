/* SPDX-License-Identifier: MIT */
/* See amount.h. */
#include "amount.h"

#include "persistent.h"
#include "processes.h"

static int size_of(MPI_Datatype type, MPI_Count *size)
{
    if (type == MPI_DATATYPE_NULL) /* an error of the program's call, not of ours */
        return MPI_ERR_ARG;
    return QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, size);
}

/* A role without an argument of its own is one: MPI_Fetch_and_op moves one element. */
static MPI_Count count_at(const QMPIX_Call *call, int role, int i)
{
    return role ? qmpi_meaning_count(call, role, i) : 1;
}

static int parts(const QMPIX_Call *call, int count_role, int type_role, int first, int count,
                 MPI_Count *bytes)
{
    const bool many = qmpi_meaning_is_array(call, count_role);
    const bool types = qmpi_meaning_is_array(call, type_role);
    MPI_Count size = 0, total = 0;
    int result = MPI_SUCCESS;
    if (count <= 0) {
        *bytes = 0;
        return MPI_SUCCESS;
    }
    if (!types)
        result = size_of(qmpi_meaning_type(call, type_role, 0), &size);
    if (!many)
        total = count * count_at(call, count_role, 0) * size;
    for (int i = first; many && i < first + count && result == MPI_SUCCESS; i++) {
        const MPI_Count elements = qmpi_meaning_count(call, count_role, i);
        if (types && elements)
            result = size_of(qmpi_meaning_type(call, type_role, i), &size);
        total += elements ? elements * size : 0;
    }
    if (result == MPI_SUCCESS)
        *bytes = total;
    return result;
}

int qmpi_amount_send_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    return parts(call, meaning->send_count, meaning->send_type, first, count, bytes);
}

int qmpi_amount_receive_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    return parts(call, meaning->receive_count, meaning->receive_type, first, count, bytes);
}

static int partitions_of(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    return meaning->partitions ? QMPI_ARGUMENT(call, meaning->partitions, int) : 1;
}

static bool is_nobody(const QMPIX_Call *call, int role)
{
    return role && QMPI_ARGUMENT(call, role, int) == MPI_PROC_NULL;
}

static bool is_matched(const QMPIX_Call *call)
{
    return qmpi_meaning_of(call)->shape == QMPI_SHAPE_MATCHED_RECEIVE;
}

/* The records of such receives are the first part of what observe_X keeps. */
static const struct qmpi_matched *matched_of(const QMPIX_Call *call)
{
    return &((const struct qmpi_observed_message *)(const void *)call)->matched;
}

/* The status of a transfer that is finished; NULL: there is none. */
static const MPI_Status *final_status(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    if (!call->result || !meaning->status)
        return NULL;
    const MPI_Status *status = QMPI_ARGUMENT(call, meaning->status, MPI_Status *);
    return status == MPI_STATUS_IGNORE ? NULL : status;
}

static int count_of(const MPI_Status *status, MPI_Count *bytes)
{
    return QMPI_PMPI(Get_elements_x, GET_ELEMENTS_X)(status, MPI_BYTE, bytes);
}

int qmpi_amount_sent(const QMPIX_Call *call, MPI_Count *bytes)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const bool reads_only = meaning->op && QMPI_ARGUMENT(call, meaning->op, MPI_Op) == MPI_NO_OP;
    *bytes = 0;
    if (!meaning->send_type || is_nobody(call, meaning->destination) || reads_only)
        return MPI_SUCCESS;
    if (meaning->shape == QMPI_SHAPE_WRITE && final_status(call))
        return count_of(final_status(call), bytes);
    return qmpi_amount_send_parts(call, 0, partitions_of(call), bytes);
}

int qmpi_amount_received(const QMPIX_Call *call, MPI_Count *bytes)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    *bytes = 0;
    if (!meaning->receive_type || is_nobody(call, meaning->source) ||
        (is_matched(call) && matched_of(call)->source == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (final_status(call))
        return count_of(final_status(call), bytes);
    return qmpi_amount_receive_parts(call, 0, partitions_of(call), bytes);
}

int qmpi_amount_of(const QMPIX_Call *call, struct qmpi_amount *amount)
{
    const unsigned shape = qmpi_meaning_of(call)->shape;
    *amount = (struct qmpi_amount){0, 0};
    if (shape == QMPI_SHAPE_NONE || shape == QMPI_SHAPE_COMPLETE)
        return MPI_SUCCESS;
    if (call->function->group == QMPIX_GROUP_COLLECTIVE)
        return qmpi_amount_collective(call, amount);
    const int result = qmpi_amount_sent(call, &amount->sent);
    return result == MPI_SUCCESS ? qmpi_amount_received(call, &amount->received) : result;
}

/* Whether the call, as it stands, moves anything: a failed one does not. */
static int check(const QMPIX_Call *call, bool *moves)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    *moves = meaning->shape != QMPI_SHAPE_NONE && meaning->shape != QMPI_SHAPE_COMPLETE &&
             !meaning->persistent && (!call->result || qmpi_meaning_succeeded(call));
    return *moves && !qmpi_meaning_can_ask(call) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received)
{
    struct qmpi_amount amount = {0, 0};
    bool moves;
    if (!call)
        return MPI_ERR_ARG;
    int result = check(call, &moves);
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

/* ---- Messages -----------------------------------------------------------------------------------
 */

static int tag_of(const QMPIX_Call *call, int role)
{
    return role ? QMPI_ARGUMENT(call, role, int) : MPI_UNDEFINED;
}

/* What the status knows better than the arguments: MPI_ANY_SOURCE, MPI_ANY_TAG. */
static void ask_status(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const MPI_Status *status = final_status(call);
    if (status && transfer->peer != MPI_PROC_NULL && !meaning->window) {
        transfer->peer = status->MPI_SOURCE;
        transfer->tag = status->MPI_TAG;
    }
}

static void find_world(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const struct qmpi_processes *processes = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    transfer->world = MPI_UNDEFINED;
    if (transfer->peer < 0)
        return; /* MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_UNDEFINED */
    if (meaning->comm)
        comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    else if (is_matched(call))
        comm = matched_of(call)->comm;
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
            .peer = is_matched(call) ? matched_of(call)->source
                                     : QMPI_ARGUMENT(call, meaning->source, int),
            .tag = is_matched(call) ? matched_of(call)->tag : tag_of(call, meaning->receive_tag)};
        result = qmpi_amount_received(call, &transfer->bytes);
        ask_status(call, transfer);
        find_world(call, transfer);
    }
    return result;
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
    int result = check(call, &moves);
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
