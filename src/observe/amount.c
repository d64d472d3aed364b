/* SPDX-License-Identifier: MIT */
/*
 * See amount.h. For collectives, these functions count the data that this process reads and the
 * parts of its buffers that are written. Arguments that are not significant in this process are not
 * read. The ranks of peers in MPI_COMM_WORLD come from comms.c.
 */
#include "observe/amount.h"

#include "observe/comms.h"
#include "observe/handles.h"

/* ---- Buffers --------------------------------------------------------------------------------- */

/* Finds the size of a type. The call must use at least one element of the type: without elements,
 * MPI may have accepted an invalid type. */
static int find_type_size(const QMPIX_Call *call, MPI_Datatype type, MPI_Count *size)
{
    if (type == MPI_DATATYPE_NULL) /* the call of the program has an invalid argument */
        return MPI_ERR_ARG;
    if (!call->result && !qmpi_handle_is_type(type))
        return MPI_ERR_OTHER;
    return QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, size);
}

/* Returns the value of a count, or 1 if the function has no argument for it: MPI_Fetch_and_op moves
 * one element. */
static MPI_Count count_at(const QMPIX_Call *call, int role, int i)
{
    return role ? qmpi_semantics_count(call, role, i) : 1;
}

static int add_up_parts(const QMPIX_Call *call, int count_role, int type_role, int first, int count,
                        MPI_Count *bytes)
{
    const bool many = qmpi_semantics_is_array(call, count_role);
    const bool types = qmpi_semantics_is_array(call, type_role);
    MPI_Count size = 0, total = 0, elements = 0;
    int result = MPI_SUCCESS;
    if (!many && count > 0) {
        const MPI_Count each = count_at(call, count_role, 0);
        result = each < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
        elements = count * each;
    }
    for (int i = first; many && i < first + count && result == MPI_SUCCESS; i++) {
        const MPI_Count mine = qmpi_semantics_count(call, count_role, i);
        if (mine < 0)
            result = MPI_ERR_ARG;
        else if (types && mine)
            result = find_type_size(call, qmpi_semantics_type(call, type_role, i), &size);
        total += mine * size;
        elements += mine;
    }
    if (!types && elements && result == MPI_SUCCESS) {
        result = find_type_size(call, qmpi_semantics_type(call, type_role, 0), &size);
        total = elements * size;
    }
    if (result == MPI_SUCCESS)
        *bytes = total;
    return result;
}

int qmpi_amount_send_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    return add_up_parts(call, meaning->send_count, meaning->send_type, first, count, bytes);
}

int qmpi_amount_receive_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    return add_up_parts(call, meaning->receive_count, meaning->receive_type, first, count, bytes);
}

static int partitions_of(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    return meaning->partitions ? QMPI_ARGUMENT(call, meaning->partitions, int) : 1;
}

static bool is_nobody(const QMPIX_Call *call, int role)
{
    return role && QMPI_ARGUMENT(call, role, int) == MPI_PROC_NULL;
}

const MPI_Status *qmpi_amount_status(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    if (!call->result || !meaning->status)
        return NULL;
    const MPI_Status *status = QMPI_ARGUMENT(call, meaning->status, MPI_Status *);
    return status == MPI_STATUS_IGNORE ? NULL : status;
}

static int read_status_bytes(const MPI_Status *status, MPI_Count *bytes)
{
    return QMPI_PMPI(Get_elements_x, GET_ELEMENTS_X)(status, MPI_BYTE, bytes);
}

int qmpi_amount_sent(const QMPIX_Call *call, MPI_Count *bytes)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const bool reads_only = meaning->op && QMPI_ARGUMENT(call, meaning->op, MPI_Op) == MPI_NO_OP;
    *bytes = 0;
    if (!meaning->send_type || is_nobody(call, meaning->destination) || reads_only)
        return MPI_SUCCESS;
    if (meaning->shape == QMPI_SHAPE_WRITE && qmpi_amount_status(call))
        return read_status_bytes(qmpi_amount_status(call), bytes);
    return qmpi_amount_send_parts(call, 0, partitions_of(call), bytes);
}

int qmpi_amount_received(const QMPIX_Call *call, MPI_Count *bytes)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const struct qmpi_record_matched *matched = qmpi_amount_matched(call);
    *bytes = 0;
    if (!meaning->receive_type || is_nobody(call, meaning->source) ||
        (matched && matched->source == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (qmpi_amount_status(call))
        return read_status_bytes(qmpi_amount_status(call), bytes);
    return qmpi_amount_receive_parts(call, 0, partitions_of(call), bytes);
}

int qmpi_amount_of(const QMPIX_Call *call, struct qmpi_record_amount *amount)
{
    const unsigned shape = qmpi_semantics_of(call)->shape;
    *amount = (struct qmpi_record_amount){0, 0};
    if (shape == QMPI_SHAPE_NONE || shape == QMPI_SHAPE_COMPLETE)
        return MPI_SUCCESS;
    if (call->function->group == QMPIX_GROUP_COLLECTIVE)
        return qmpi_amount_collective(call, amount);
    const int result = qmpi_amount_sent(call, &amount->sent);
    return result == MPI_SUCCESS ? qmpi_amount_received(call, &amount->received) : result;
}

int qmpi_amount_check(const QMPIX_Call *call, bool *moves)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    *moves = meaning->shape != QMPI_SHAPE_NONE && meaning->shape != QMPI_SHAPE_COMPLETE &&
             !qmpi_semantics_has(meaning, QMPIX_TRAIT_PERSISTENT) &&
             (!call->result || qmpi_semantics_succeeded(call));
    return *moves && !qmpi_semantics_can_ask(call) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* ---- Collectives ----------------------------------------------------------------------------- */

/* A collective call as one process makes it. */
struct part {
    const QMPIX_Call *call;
    const struct qmpi_semantics *meaning;
    const struct qmpi_comm_processes *who;
    bool is_root;  /* all data come from this process or go to it */
    bool is_away;  /* in a rooted operation of an intercommunicator: this process is in the root's
                      group, but is not the root */
    bool in_place; /* MPI_IN_PLACE is given for either buffer */
    struct qmpi_record_amount *amount;
};

static const void *buffer_address(const struct part *part, int role)
{
    return role ? QMPI_ARGUMENT(part->call, role, void *) : NULL;
}

static bool is_in_place(const struct part *part)
{
    /* A variable is used because compilers warn of a cast of the constant. */
    const void *const in_place = MPI_IN_PLACE;
    return buffer_address(part, part->meaning->send_buffer) == in_place ||
           (part->meaning->receive_buffer &&
            buffer_address(part, part->meaning->receive_buffer) == in_place);
}

static int count_sent(const struct part *part, int first, int count)
{
    return qmpi_amount_send_parts(part->call, first, count, &part->amount->sent);
}

static int count_received(const struct part *part, int first, int count)
{
    return qmpi_amount_receive_parts(part->call, first, count, &part->amount->received);
}

static int count_bcast(const struct part *part)
{
    /* There is one buffer, which is described as the send buffer. */
    MPI_Count *bytes = part->is_root ? &part->amount->sent : &part->amount->received;
    return part->is_away ? MPI_SUCCESS : qmpi_amount_send_parts(part->call, 0, 1, bytes);
}

static int count_gather(const struct part *part)
{
    MPI_Count mine = 0;
    int result;
    if (part->is_away)
        return MPI_SUCCESS;
    if (!part->is_root)
        return count_sent(part, 0, 1);
    result = count_received(part, 0, part->who->peers);
    if (result != MPI_SUCCESS || part->who->is_inter)
        return result;
    if (!part->in_place)
        return count_sent(part, 0, 1);
    result = qmpi_amount_receive_parts(part->call, part->who->rank, 1, &mine);
    part->amount->received -= mine;
    return result;
}

static int count_scatter(const struct part *part)
{
    MPI_Count mine = 0;
    int result;
    if (part->is_away)
        return MPI_SUCCESS;
    if (!part->is_root)
        return count_received(part, 0, 1);
    result = count_sent(part, 0, part->who->peers);
    if (result != MPI_SUCCESS || part->who->is_inter)
        return result;
    if (!part->in_place)
        return count_received(part, 0, 1);
    result = qmpi_amount_send_parts(part->call, part->who->rank, 1, &mine);
    part->amount->sent -= mine;
    return result;
}

static int count_allgather(const struct part *part)
{
    int result = count_received(part, 0, part->who->peers);
    if (result != MPI_SUCCESS)
        return result;
    if (!part->in_place)
        return count_sent(part, 0, 1);
    result = qmpi_amount_receive_parts(part->call, part->who->rank, 1, &part->amount->sent);
    part->amount->received -= part->amount->sent;
    if (part->who->peers == 1) /* no other process receives it */
        part->amount->sent = 0;
    return result;
}

static int count_alltoall(const struct part *part)
{
    const int result = count_received(part, 0, part->who->peers);
    if (result == MPI_SUCCESS && part->in_place)
        part->amount->sent = part->amount->received;
    return result == MPI_SUCCESS && !part->in_place ? count_sent(part, 0, part->who->peers)
                                                    : result;
}

/* The same amount is received as is sent, in the same buffer or in another. */
static int count_allreduce(const struct part *part)
{
    const int result = count_sent(part, 0, 1);
    part->amount->received = part->amount->sent;
    return result;
}

static int count_exscan(const struct part *part)
{
    const int result = count_allreduce(part);
    if (part->who->rank == 0)
        part->amount->received = 0;
    return result;
}

static int count_reduce(const struct part *part)
{
    if (part->is_away)
        return MPI_SUCCESS;
    if (part->who->is_inter)
        return part->is_root ? count_received(part, 0, 1) : count_sent(part, 0, 1);
    return part->is_root ? count_allreduce(part) : count_sent(part, 0, 1);
}

static int count_reduce_scatter(const struct part *part)
{
    const int result = count_sent(part, 0, part->who->local);
    return result == MPI_SUCCESS ? count_received(part, part->who->rank, 1) : result;
}

/* Adds the sizes of the parts of a buffer that belong to existing neighbors. */
static int count_neighbors(const QMPIX_Call *call, const int *ranks, int count,
                           int (*amount)(const QMPIX_Call *, int, int, MPI_Count *),
                           MPI_Count *bytes)
{
    for (int i = 0; i < count; i++) {
        MPI_Count one = 0;
        const int result = ranks[i] == MPI_PROC_NULL ? MPI_SUCCESS : amount(call, i, 1, &one);
        if (result != MPI_SUCCESS)
            return result;
        *bytes += one;
    }
    return MPI_SUCCESS;
}

static int count_neighbor_alltoall(const struct part *part)
{
    const int result = count_neighbors(part->call, part->who->sources, part->who->in,
                                       qmpi_amount_receive_parts, &part->amount->received);
    if (result != MPI_SUCCESS)
        return result;
    return count_neighbors(part->call, part->who->destinations, part->who->out,
                           qmpi_amount_send_parts, &part->amount->sent);
}

/* All neighbors receive the same data, which count once if there is any neighbor. */
static int count_neighbor_allgather(const struct part *part)
{
    int result = count_neighbors(part->call, part->who->sources, part->who->in,
                                 qmpi_amount_receive_parts, &part->amount->received);
    for (int i = 0; i < part->who->out; i++) {
        if (part->who->destinations[i] != MPI_PROC_NULL)
            return result == MPI_SUCCESS ? count_sent(part, 0, 1) : result;
    }
    return result;
}

struct neighbors {
    const QMPIX_Call *call;
    const struct qmpi_comm_processes *who;
    void (*each)(void *data, const QMPIX_Transfer *transfer);
    void *data;
};

/* Visits the neighbors. `is_one_part`: all of them receive the same part of the buffer. */
static int visit_neighbors(const struct neighbors *all, bool sending, bool is_one_part)
{
    const int *const ranks = sending ? all->who->destinations : all->who->sources;
    const int count = sending ? all->who->out : all->who->in;
    for (int i = 0; i < count; i++) {
        QMPIX_Transfer transfer = {
            .sending = sending,
            .peer = ranks[i],
            .world = qmpi_comm_world_rank(all->who, ranks[i]),
            .tag = MPI_UNDEFINED,
        };
        if (ranks[i] == MPI_PROC_NULL)
            continue;
        const int part = is_one_part ? 0 : i;
        const int result = sending ? qmpi_amount_send_parts(all->call, part, 1, &transfer.bytes)
                                   : qmpi_amount_receive_parts(all->call, part, 1, &transfer.bytes);
        if (result != MPI_SUCCESS)
            return result;
        all->each(all->data, &transfer);
    }
    return MPI_SUCCESS;
}

int qmpi_amount_each_neighbor(const QMPIX_Call *call,
                              void (*each)(void *data, const QMPIX_Transfer *transfer), void *data)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const bool gathers = meaning->shape == QMPI_SHAPE_NEIGHBOR_ALLGATHER;
    if (!gathers && meaning->shape != QMPI_SHAPE_NEIGHBOR_ALLTOALL)
        return MPI_SUCCESS;
    const MPI_Comm comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    const struct neighbors all = {call, qmpi_comm_processes_of(comm, call->result), each, data};
    if (!all.who)
        return comm == MPI_COMM_NULL ? MPI_ERR_ARG : MPI_ERR_OTHER;
    const int result = visit_neighbors(&all, false, false);
    return result == MPI_SUCCESS ? visit_neighbors(&all, true, gathers) : result;
}

/* The functions that count the data of a collective. For shapes without a function, nothing is
 * counted. */
static int (*const by_shape[QMPI_SHAPE_COUNT])(const struct part *part) = {
    [QMPI_SHAPE_BCAST] = count_bcast,
    [QMPI_SHAPE_GATHER] = count_gather,
    [QMPI_SHAPE_SCATTER] = count_scatter,
    [QMPI_SHAPE_ALLGATHER] = count_allgather,
    [QMPI_SHAPE_ALLTOALL] = count_alltoall,
    [QMPI_SHAPE_ALLREDUCE] = count_allreduce,
    [QMPI_SHAPE_REDUCE] = count_reduce,
    [QMPI_SHAPE_SCAN] = count_allreduce,
    [QMPI_SHAPE_EXSCAN] = count_exscan,
    [QMPI_SHAPE_REDUCE_SCATTER] = count_reduce_scatter,
    [QMPI_SHAPE_NEIGHBOR_ALLGATHER] = count_neighbor_allgather,
    [QMPI_SHAPE_NEIGHBOR_ALLTOALL] = count_neighbor_alltoall,
};

int qmpi_amount_collective(const QMPIX_Call *call, struct qmpi_record_amount *amount)
{
    struct part part = {.call = call, .meaning = qmpi_semantics_of(call), .amount = amount};
    const MPI_Comm comm = QMPI_ARGUMENT(call, part.meaning->comm, MPI_Comm);
    part.who = qmpi_comm_processes_of(comm, call->result);
    if (!part.who)
        return comm == MPI_COMM_NULL ? MPI_ERR_ARG : MPI_ERR_OTHER;
    if (part.meaning->root) {
        const int root = QMPI_ARGUMENT(call, part.meaning->root, int);
        part.is_root = part.who->is_inter ? root == MPI_ROOT : root == part.who->rank;
        part.is_away = part.who->is_inter && root == MPI_PROC_NULL;
    }
    part.in_place = is_in_place(&part);
    int (*const count)(const struct part *part) = by_shape[part.meaning->shape];
    return count ? count(&part) : MPI_SUCCESS;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int tag_of(const QMPIX_Call *call, int role)
{
    return role ? QMPI_ARGUMENT(call, role, int) : MPI_UNDEFINED;
}

/* Takes the peer and the tag from the status, because the arguments may be MPI_ANY_SOURCE and
 * MPI_ANY_TAG. */
static void ask_status(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const MPI_Status *status = qmpi_amount_status(call);
    if (status && transfer->peer != MPI_PROC_NULL && !meaning->window) {
        transfer->peer = status->MPI_SOURCE;
        transfer->tag = status->MPI_TAG;
    }
}

static void find_world(const QMPIX_Call *call, QMPIX_Transfer *transfer)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const struct qmpi_record_matched *matched = qmpi_amount_matched(call);
    const struct qmpi_comm_processes *processes = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    transfer->world = MPI_UNDEFINED;
    if (transfer->peer < 0)
        return; /* it is MPI_PROC_NULL, MPI_ANY_SOURCE or MPI_UNDEFINED */
    if (meaning->comm)
        comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    else if (matched)
        comm = matched->comm;
    if (comm != MPI_COMM_NULL)
        processes = qmpi_comm_processes_of(comm, meaning->comm && call->result);
    else if (meaning->window)
        processes = qmpi_comm_processes_of_window(QMPI_ARGUMENT(call, meaning->window, MPI_Win),
                                                  call->result);
    if (processes)
        transfer->world = qmpi_comm_world_rank(processes, transfer->peer);
}

static bool has_messages(unsigned group)
{
    return group == QMPIX_GROUP_POINT_TO_POINT || group == QMPIX_GROUP_ONE_SIDED;
}

int qmpi_amount_transfers(const QMPIX_Call *call, QMPIX_Transfer transfers[2], int *count)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const struct qmpi_record_matched *matched = qmpi_amount_matched(call);
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
