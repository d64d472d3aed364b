/* SPDX-License-Identifier: MIT */
/*
 * The bytes of collective operations: what is read of this process's data and what is written of
 * its buffers. Arguments that are not significant here are not looked at.
 */
#include "observe/comm_info.h"
#include "observe/size.h"

/* A collective call as one process makes it. */
struct part {
    const QMPIX_Call *call;
    const struct qmpi_meaning *meaning;
    const struct qmpi_processes *who;
    bool is_root; /* where all data come from or go to */
    bool
        is_away; /* of an intercommunicator's rooted operation: in the root's group, not the root */
    bool in_place; /* MPI_IN_PLACE for either buffer */
    struct qmpi_amount *amount;
};

static const void *address(const struct part *part, int role)
{
    return role ? QMPI_ARGUMENT(part->call, role, void *) : NULL;
}

static bool is_in_place(const struct part *part)
{
    /* Names a pointer, so that no compiler minds a constant's cast. */
    const void *const in_place = MPI_IN_PLACE;
    return address(part, part->meaning->send_buffer) == in_place ||
           (part->meaning->receive_buffer &&
            address(part, part->meaning->receive_buffer) == in_place);
}

static int send(const struct part *part, int first, int count)
{
    return qmpi_amount_send_parts(part->call, first, count, &part->amount->sent);
}

static int receive(const struct part *part, int first, int count)
{
    return qmpi_amount_receive_parts(part->call, first, count, &part->amount->received);
}

static int bcast(const struct part *part)
{
    /* One buffer, described once: the send side. */
    MPI_Count *bytes = part->is_root ? &part->amount->sent : &part->amount->received;
    return part->is_away ? MPI_SUCCESS : qmpi_amount_send_parts(part->call, 0, 1, bytes);
}

static int gather(const struct part *part)
{
    MPI_Count mine = 0;
    int result;
    if (part->is_away)
        return MPI_SUCCESS;
    if (!part->is_root)
        return send(part, 0, 1);
    result = receive(part, 0, part->who->peers);
    if (result != MPI_SUCCESS || part->who->is_inter)
        return result;
    if (!part->in_place)
        return send(part, 0, 1);
    result = qmpi_amount_receive_parts(part->call, part->who->rank, 1, &mine);
    part->amount->received -= mine;
    return result;
}

static int scatter(const struct part *part)
{
    MPI_Count mine = 0;
    int result;
    if (part->is_away)
        return MPI_SUCCESS;
    if (!part->is_root)
        return receive(part, 0, 1);
    result = send(part, 0, part->who->peers);
    if (result != MPI_SUCCESS || part->who->is_inter)
        return result;
    if (!part->in_place)
        return receive(part, 0, 1);
    result = qmpi_amount_send_parts(part->call, part->who->rank, 1, &mine);
    part->amount->sent -= mine;
    return result;
}

static int allgather(const struct part *part)
{
    int result = receive(part, 0, part->who->peers);
    if (result != MPI_SUCCESS)
        return result;
    if (!part->in_place)
        return send(part, 0, 1);
    result = qmpi_amount_receive_parts(part->call, part->who->rank, 1, &part->amount->sent);
    part->amount->received -= part->amount->sent;
    if (part->who->peers == 1) /* no other process gets it */
        part->amount->sent = 0;
    return result;
}

static int alltoall(const struct part *part)
{
    const int result = receive(part, 0, part->who->peers);
    if (result == MPI_SUCCESS && part->in_place)
        part->amount->sent = part->amount->received;
    return result == MPI_SUCCESS && !part->in_place ? send(part, 0, part->who->peers) : result;
}

/* What goes in comes out, on the same buffer or on another. */
static int allreduce(const struct part *part)
{
    const int result = send(part, 0, 1);
    part->amount->received = part->amount->sent;
    return result;
}

static int exscan(const struct part *part)
{
    const int result = allreduce(part);
    if (part->who->rank == 0)
        part->amount->received = 0;
    return result;
}

static int reduce(const struct part *part)
{
    if (part->is_away)
        return MPI_SUCCESS;
    if (part->who->is_inter)
        return part->is_root ? receive(part, 0, 1) : send(part, 0, 1);
    return part->is_root ? allreduce(part) : send(part, 0, 1);
}

static int reduce_scatter(const struct part *part)
{
    const int result = send(part, 0, part->who->local);
    return result == MPI_SUCCESS ? receive(part, part->who->rank, 1) : result;
}

/* The parts of a buffer that belong to neighbors who exist. */
static int neighbours(const QMPIX_Call *call, const int *ranks, int count,
                      int (*amount)(const QMPIX_Call *, int, int, MPI_Count *), MPI_Count *bytes)
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

static int neighbor_alltoall(const struct part *part)
{
    const int result = neighbours(part->call, part->who->sources, part->who->in,
                                  qmpi_amount_receive_parts, &part->amount->received);
    if (result != MPI_SUCCESS)
        return result;
    return neighbours(part->call, part->who->destinations, part->who->out, qmpi_amount_send_parts,
                      &part->amount->sent);
}

/* The same data go to every neighbor: they are read once, if there is one. */
static int neighbor_allgather(const struct part *part)
{
    int result = neighbours(part->call, part->who->sources, part->who->in,
                            qmpi_amount_receive_parts, &part->amount->received);
    for (int i = 0; i < part->who->out; i++) {
        if (part->who->destinations[i] != MPI_PROC_NULL)
            return result == MPI_SUCCESS ? send(part, 0, 1) : result;
    }
    return result;
}

/* A collective without a function here transfers nothing that is known. */
static int (*const by_shape[QMPI_SHAPE_COUNT])(const struct part *part) = {
    [QMPI_SHAPE_BCAST] = bcast,
    [QMPI_SHAPE_GATHER] = gather,
    [QMPI_SHAPE_SCATTER] = scatter,
    [QMPI_SHAPE_ALLGATHER] = allgather,
    [QMPI_SHAPE_ALLTOALL] = alltoall,
    [QMPI_SHAPE_ALLREDUCE] = allreduce,
    [QMPI_SHAPE_REDUCE] = reduce,
    [QMPI_SHAPE_SCAN] = allreduce,
    [QMPI_SHAPE_EXSCAN] = exscan,
    [QMPI_SHAPE_REDUCE_SCATTER] = reduce_scatter,
    [QMPI_SHAPE_NEIGHBOR_ALLGATHER] = neighbor_allgather,
    [QMPI_SHAPE_NEIGHBOR_ALLTOALL] = neighbor_alltoall,
};

int qmpi_amount_collective(const QMPIX_Call *call, struct qmpi_amount *amount)
{
    struct part part = {.call = call, .meaning = qmpi_meaning_of(call), .amount = amount};
    const MPI_Comm comm = QMPI_ARGUMENT(call, part.meaning->comm, MPI_Comm);
    part.who = qmpi_processes_of_comm(comm);
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
