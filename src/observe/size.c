/* SPDX-License-Identifier: MIT */
/* See size.h. */
#include "observe/size.h"

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

const MPI_Status *qmpi_amount_status(const QMPIX_Call *call)
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
    if (meaning->shape == QMPI_SHAPE_WRITE && qmpi_amount_status(call))
        return count_of(qmpi_amount_status(call), bytes);
    return qmpi_amount_send_parts(call, 0, partitions_of(call), bytes);
}

int qmpi_amount_received(const QMPIX_Call *call, MPI_Count *bytes)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const struct qmpi_matched *matched = qmpi_amount_matched(call);
    *bytes = 0;
    if (!meaning->receive_type || is_nobody(call, meaning->source) ||
        (matched && matched->source == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (qmpi_amount_status(call))
        return count_of(qmpi_amount_status(call), bytes);
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

int qmpi_amount_check(const QMPIX_Call *call, bool *moves)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    *moves = meaning->shape != QMPI_SHAPE_NONE && meaning->shape != QMPI_SHAPE_COMPLETE &&
             !meaning->persistent && (!call->result || qmpi_meaning_succeeded(call));
    return *moves && !qmpi_meaning_can_ask(call) ? MPI_ERR_OTHER : MPI_SUCCESS;
}
