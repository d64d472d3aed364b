/* SPDX-License-Identifier: MIT */
/* Cases of path.c: collectives, communicators and windows. */
#include "path.h"

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Each rank works in turn, and the others wait for it. */
void alternate(void)
{
    int in[64], out[64] = {0};
    for (int i = 0; i < 6; i++) {
        work_of(i % size, 1);
        switch (i) {
        case 0:
            MPI_Barrier(world);
            break;
        case 1:
            MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, world);
            break;
        case 2:
            MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, world);
            break;
        case 3:
            MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, world);
            break;
        case 4:
            MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, world);
            break;
        default:
            MPI_Barrier(world);
            break;
        }
    }
}

void rooted(void)
{
    int in[64], out[64] = {0};
    work_of(0, 1);
    MPI_Bcast(out, 1, MPI_INT, 0, world);
    work_of(1, 1);
    MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, 0, world);
    work_of(0, 1);
    MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
    work_of(1, 1);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
    work_of(0, 1);
}

/* The root of a broadcast does not depend on the other ranks, and ranks other than the root of a
 * gather do not depend on the root. */
void against_root(void)
{
    int in[64], out[64] = {0};
    work_of(1, 3);
    MPI_Bcast(out, 1, MPI_INT, 0, world);
    work_of(0, 3);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 1, world);
    work_of(0, 1);
}

/* Ranks depend only on lower ranks. */
void scans(void)
{
    int in = 0, out = 0;
    work_of(size - 1, 2);
    MPI_Scan(&out, &in, 1, MPI_INT, MPI_SUM, world);
    work_of(0, 3);
    MPI_Exscan(&out, &in, 1, MPI_INT, MPI_SUM, world);
    work_of(size - 1, 1);
}

void nonblocking(void)
{
    int in[64], out[64] = {0}, done = 0;
    MPI_Request requests[2];
    work_of(0, 2);
    MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, world, &requests[0]);
    MPI_Ibcast(out, 1, MPI_INT, 0, world, &requests[1]);
    work(1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    work_of(1, 2);
    MPI_Ireduce(out, in, 1, MPI_INT, MPI_SUM, 0, world, &requests[0]);
    while (!done)
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    work_of(0, 1);
}

void persistent_collective(void)
{
#ifdef MPI_SESSION_NULL
    int in = 0, out = 0;
    MPI_Request request;
    MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request);
    for (int i = 0; i < 4; i++) {
        work_of(i % size, 1);
        MPI_Start(&request);
        wait_for(&request);
    }
    MPI_Request_free(&request);
#else
    alternate();
#endif
}

/* ---- Communicators --------------------------------------------------------------------------- */

void communicators(void)
{
    MPI_Comm copy, part, cart, upper, merged, idup;
    MPI_Request request;
    MPI_Comm_dup(world, &copy);
    chain_on(copy, MPI_Send);
    MPI_Comm_split(copy, 0, -rank, &part);
    MPI_Comm_free(&copy);
    MPI_Barrier(part);
    chain_on(part, MPI_Send);
    MPI_Cart_create(part, 1, (int[]){size}, (int[]){1}, 0, &cart);
    chain_on(cart, MPI_Send);
    MPI_Comm_split(world, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, world, !(rank % 2), 3, &upper);
    MPI_Intercomm_merge(upper, rank % 2, &merged);
    chain_on(merged, MPI_Send);
    MPI_Comm_idup(world, &idup, &request);
    wait_for(&request);
    chain_on(idup, MPI_Send);
    MPI_Comm_free(&idup);
    MPI_Comm_free(&upper);
}

/* Two groups work in turn. */
void intercommunicator(void)
{
    MPI_Comm part, both;
    int value = 0, sum;
    MPI_Comm_split(world, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, world, !(rank % 2), 3, &both);
    work_of(0, 1);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
    work_of(1, 1);
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 0, both);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE);
    work_of(0, 1);
    MPI_Bcast(&value, 1, MPI_INT, rank % 2 ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, both);
    work_of(1, 1);
    MPI_Comm_free(&both);
}

/* In a line, ranks depend on their neighbors. Ranks 0 and 1 work in turn. */
void neighbors(void)
{
    MPI_Comm line;
    int in[2], out[2] = {0};
    MPI_Cart_create(world, 1, (int[]){size}, (int[]){0}, 0, &line);
    work_of(0, 2);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, line);
    work_of(1, 1);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line);
    work_of(0, 1);
    MPI_Request request;
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line, &request);
    wait_for(&request);
    work_of(1, 1);
    MPI_Comm_free(&line);
}

void windows(void)
{
    int memory = 0;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, world, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (int i = 0; i < 4; i++) {
        work_of(i % size, 1);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
}
