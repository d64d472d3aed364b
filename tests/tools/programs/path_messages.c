/* SPDX-License-Identifier: MIT */
/* Cases of path.c: point-to-point messages. */
#include "path.h"

#include <string.h>

static int send_nonblocking(const void *data, int count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm)
{
    MPI_Request request;
    MPI_Isend(data, count, type, dest, tag, comm, &request);
    return wait_for(&request);
}

static int send_synchronous(const void *data, int count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm)
{
    MPI_Request request;
    MPI_Issend(data, count, type, dest, tag, comm, &request);
    return wait_for(&request);
}

static int send_persistent(const void *data, int count, MPI_Datatype type, int dest, int tag,
                           MPI_Comm comm)
{
    MPI_Request request;
    MPI_Send_init(data, count, type, dest, tag, comm, &request);
    MPI_Start(&request);
    wait_for(&request);
    return MPI_Request_free(&request);
}

static int send_large(const void *data, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm)
{
#if MPI_VERSION >= 4
    return MPI_Send_c(data, count, type, dest, tag, comm);
#else
    return MPI_Send(data, count, type, dest, tag, comm);
#endif
}

static int send_and_free(const void *data, int count, MPI_Datatype type, int dest, int tag,
                         MPI_Comm comm)
{
    static int copy;
    MPI_Request request;
    memcpy(&copy, data, sizeof copy);
    MPI_Isend(&copy, count, type, dest, tag, comm, &request);
    return MPI_Request_free(&request);
}

void chain(void)
{
    chain_on(world, MPI_Send);
}

void chain_ssend(void)
{
    chain_on(world, MPI_Ssend);
}

void chain_isend(void)
{
    chain_on(world, send_nonblocking);
}

void chain_issend(void)
{
    chain_on(world, send_synchronous);
}

void chain_bsend(void)
{
    static char buffer[1000 + 100 * MPI_BSEND_OVERHEAD];
    void *old;
    int length;
    MPI_Buffer_attach(buffer, sizeof buffer);
    chain_on(world, MPI_Bsend);
    MPI_Buffer_detach(&old, &length);
}

void chain_persistent(void)
{
    chain_on(world, send_persistent);
}

void chain_large(void)
{
    chain_on(world, send_large);
}

void chain_freed(void)
{
    chain_on(world, send_and_free);
}

/* Blocks pass through all ranks. */
void pipeline(void)
{
    for (int block = 0; block < 5; block++) {
        int value = block;
        if (rank)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, world, MPI_STATUS_IGNORE);
        work(1);
        if (rank < size - 1)
            MPI_Send(&value, 1, MPI_INT, rank + 1, 0, world);
    }
}

/* Rank 0 receives the messages as they arrive, and works on each. */
void workers(void)
{
    if (rank)
        work(3 * rank - 1);
    for (int i = 1; i < size && !rank; i++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
        work(1);
        MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 7, world);
    }
    int value = rank;
    if (rank) {
        MPI_Send(&value, 1, MPI_INT, 0, rank, world);
        MPI_Recv(&value, 1, MPI_INT, 0, 7, world, MPI_STATUS_IGNORE);
        work(2);
    }
}

/* Neighbors in a ring wait for each other; each rank in turn has more work. */
void halo(void)
{
    for (int i = 0; i < 4; i++) {
        int out[2] = {i, i}, in[2];
        MPI_Request requests[4];
        work(i % size == rank ? 2 : 1);
        MPI_Irecv(&in[0], 1, MPI_INT, (rank + 1) % size, 0, world, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, (rank + size - 1) % size, 1, world, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_INT, (rank + size - 1) % size, 0, world, &requests[2]);
        MPI_Isend(&out[1], 1, MPI_INT, (rank + 1) % size, 1, world, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

void halo_persistent(void)
{
    int out[2] = {0, 0}, in[2], done;
    MPI_Request requests[4];
    MPI_Recv_init(&in[0], 1, MPI_INT, (rank + 1) % size, 0, world, &requests[0]);
    MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &requests[1]);
    MPI_Send_init(&out[0], 1, MPI_INT, (rank + size - 1) % size, 0, world, &requests[2]);
    MPI_Send_init(&out[1], 1, MPI_INT, (rank + 1) % size, 1, world, &requests[3]);
    for (int i = 0; i < 4; i++) {
        work(i % size == rank ? 2 : 1);
        MPI_Startall(4, requests);
        int indices[4], count = 0;
        while (count < 4) {
            MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
            count += done;
        }
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

/* A ring that shifts data, in which each rank works in turn. */
void shift(void)
{
    for (int i = 0; i < 2 * size; i++) {
        int out = i, in;
        work_of(i % size, 1);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                     i % 2 ? (rank + size - 1) % size : MPI_ANY_SOURCE, MPI_ANY_TAG, world,
                     MPI_STATUS_IGNORE);
    }
}
