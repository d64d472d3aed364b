/* SPDX-License-Identifier: MIT */
/*
 * Tests which operations MPI_Start and MPI_Startall are observed to start, on two ranks: rank 0
 * sends, and rank 1 receives. Most persistent and partitioned requests are started twice and freed,
 * so that their handles may be reused.
 */
#include "expect.h"

static int rank, peer;
static int numbers[64];

static const char *done(int count, const MPI_Request *requests)
{
    const char *text = count ? "completed=" : "";
    for (int i = 0; i < count; i++)
        text = says("%s%s%s", text, i ? "," : "", REQUEST(requests[i]));
    return text;
}

static const char *transfer(int bytes, int tag)
{
    return says("%s=%d transfers=%c%d/%d/%d/%d", rank == 0 ? "sent" : "received", bytes,
                rank == 0 ? '>' : '<', peer, peer, tag, bytes);
}

static void start_and_wait(MPI_Request *request, const char *fields)
{
    DO(Start, (request), says("@ root=* %s started=%s", fields, REQUEST(*request)));
    DO(Wait, (request, MPI_STATUS_IGNORE), done(1, request));
}

#define PERSISTENT(X, COUNT)                                                                       \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        DO(X, (numbers, COUNT, MPI_INT, peer, COUNT, MPI_COMM_WORLD, &request), "@");              \
        for (int i = 0; i < 2; i++) {                                                              \
            PMPI_Barrier(MPI_COMM_WORLD);                                                          \
            start_and_wait(&request, transfer(4 * (COUNT), COUNT));                                \
        }                                                                                          \
        DO(Request_free, (&request), "");                                                          \
    } while (0)

/* The receive must be posted first; otherwise, the ready send may fail. */
static void ready_persistent(int large)
{
    MPI_Request request;
    if (rank == 1) {
        DO(Recv_init, (numbers, 6, MPI_INT, peer, 6, MPI_COMM_WORLD, &request), "@");
        DO(Start, (&request), says("@ root=* %s started=%s", transfer(24, 6), REQUEST(request)));
        PMPI_Barrier(MPI_COMM_WORLD);
        DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &request));
    } else {
        if (large)
            DO(Rsend_init_c, (numbers, 6, MPI_INT, peer, 6, MPI_COMM_WORLD, &request), "@");
        else
            DO(Rsend_init, (numbers, 6, MPI_INT, peer, 6, MPI_COMM_WORLD, &request), "@");
        PMPI_Barrier(MPI_COMM_WORLD);
        start_and_wait(&request, transfer(24, 6));
    }
    DO(Request_free, (&request), "");
}

static void persistent(void)
{
    static char room[4096];
    void *detached;
    int size;
    PMPI_Buffer_attach(room, sizeof room);
    /* These requests may have the same handle, one after the other. The observed operation must be
     * that of the request that has the handle when MPI_Start is called. */
    if (rank == 0) {
        PERSISTENT(Send_init, 1);
        PERSISTENT(Send_init_c, 2);
        PERSISTENT(Ssend_init, 3);
        PERSISTENT(Ssend_init_c, 4);
        PERSISTENT(Bsend_init, 5);
        PERSISTENT(Bsend_init_c, 6);
    } else {
        PERSISTENT(Recv_init, 1);
        PERSISTENT(Recv_init_c, 2);
        PERSISTENT(Recv_init, 3);
        PERSISTENT(Recv_init_c, 4);
        PERSISTENT(Recv_init, 5);
        PERSISTENT(Recv_init_c, 6);
    }
    PMPI_Buffer_detach(&detached, &size);
    ready_persistent(0);
    ready_persistent(1);
}

/* Special cases: requests that are freed while they are active or by a call that is not observed, a
 * buffer that is larger than the message, a communicator that is freed before the start, and a
 * request that is created by a call that is not observed. */
static void persistent_otherwise(void)
{
    MPI_Request request, saved;
    MPI_Comm comm;
    PMPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    for (int i = 0; i < 2; i++) {
        if (rank == 0)
            DO(Send_init, (numbers, 2, MPI_INT, peer, 8 + i, MPI_COMM_WORLD, &request), "@");
        else
            DO(Recv_init, (numbers, 5, MPI_INT, peer, 8 + i, MPI_COMM_WORLD, &request), "@");
        DO(Start, (&request),
           says("@ root=* %s came=%d started=%s", transfer(rank == 0 ? 8 : 20, 8 + i),
                rank == 0 ? 0 : 8, REQUEST(request)));
        saved = request;
        if (rank == 0 && i == 1) {
            DO(Request_free, (&request), ""); /* the message is sent nevertheless */
            continue;
        }
        DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &saved));
        PMPI_Request_free(&request);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    /* The rank of this process in `comm` is 1 - rank. */
    expect_on(comm);
    const MPI_Comm freed = comm;
    if (rank == 0)
        DO(Send_init, (numbers, 2, MPI_INT, 0, 9, comm, &request), "@");
    else
        DO(Recv_init, (numbers, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request), "@");
    DO(Comm_free, (&comm), says("comm=%s comm_after=*", COMM(freed)));
    DO(Start, (&request),
       says("@ root=* %s started=%s",
            rank == 0 ? "sent=8 transfers=>0/1/9/8" : "received=8 transfers=<any/-/any/8",
            REQUEST(request)));
    expect_on(MPI_COMM_WORLD);
    DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &request));
    DO(Request_free, (&request), "");
    /* The next request may have the handle that was just freed. It is created by a call that is not
     * observed, so libqmpi must know nothing about it. */
    if (rank == 0)
        PMPI_Send_init(numbers, 3, MPI_INT, peer, 10, MPI_COMM_WORLD, &request);
    else
        PMPI_Recv_init(numbers, 3, MPI_INT, peer, 10, MPI_COMM_WORLD, &request);
    DO(Start, (&request), says("started=%s", REQUEST(request)));
    DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &request));
    PMPI_Request_free(&request);
}

static void all_started(void)
{
    MPI_Request requests[3];
    for (int i = 0; i < 2; i++) {
        if (rank == 0)
            DO(Send_init, (numbers, i + 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]), "@");
        else
            DO(Recv_init, (numbers, i + 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]), "@");
    }
    DO(Send_init, (numbers, 4, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &requests[2]), "@");
    for (int i = 0; i < 2; i++) {
        const char direction = rank == 0 ? '>' : '<';
        DO(Startall, (3, requests),
           says("@ root=* %s=12 transfers=%c%d/%d/0/4,%c%d/%d/1/8,>null/-/2/0 started=%s,%s,%s",
                rank == 0 ? "sent" : "received", direction, peer, peer, direction, peer, peer,
                REQUEST(requests[0]), REQUEST(requests[1]), REQUEST(requests[2])));
        DO(Waitall, (3, requests, MPI_STATUSES_IGNORE), done(3, requests));
    }
    DO(Startall, (0, requests), "comm=* comm_after=* root=*");
    for (int i = 0; i < 3; i++)
        DO(Request_free, (&requests[i]), "");
}

/* Creates more requests than the first level of libqmpi's table of requests has buckets (1024). In
 * the second round, the entries of freed requests are reused. */
static void many(void)
{
    enum { MANY = 1100 };
    static MPI_Request requests[MANY];
    expect_on(MPI_COMM_SELF);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            DO(Send_init, (numbers, i % 8, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]), "@");
        for (int i = 0; i < MANY; i++) {
            MPI_Request receive;
            PMPI_Irecv(numbers + 8, 8, MPI_INT, 0, i, MPI_COMM_SELF, &receive);
            DO(Start, (&requests[i]),
               says("@ root=* sent=%d transfers=>0/%d/%d/%d started=%s", i % 8 * 4, rank, i,
                    i % 8 * 4, REQUEST(requests[i])));
            PMPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            PMPI_Wait(&receive, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < MANY; i++)
            DO(Request_free, (&requests[i]), "");
    }
    expect_on(MPI_COMM_WORLD);
}

#ifdef MPI_SESSION_NULL
/* Partitions of 3 ints each become ready separately, but all data count in MPI_Start. */
static void partitioned(void)
{
    MPI_Request request;
    int flag = 0;
    if (rank == 0)
        DO(Psend_init, (numbers, 5, 3, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
           "@");
    else
        DO(Precv_init, (numbers, 5, 3, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
           "@");
    for (int i = 0; i < 2; i++) {
        DO(Start, (&request), says("@ root=* %s started=%s", transfer(60, 7), REQUEST(request)));
        if (rank == 0) {
            DO(Pready, (0, request), "");
            DO(Pready_range, (1, 2, request), "");
            DO(Pready_list, (2, ((int[]){4, 3}), request), "");
        } else {
            for (flag = 0; !flag;)
                DO(Parrived, (request, 4, &flag), "");
        }
        DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &request));
    }
    DO(Request_free, (&request), "");
}
#endif

int main(int argc, char **argv)
{
    int size;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 2);
    peer = 1 - rank;
    persistent();
    persistent_otherwise();
    all_started();
    many();
#ifdef MPI_SESSION_NULL
    partitioned();
#endif
    expect_finalize();
    return 0;
}
