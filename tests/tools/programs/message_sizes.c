/* SPDX-License-Identifier: MIT */
/*
 * Calls each function that receives a message, and combines each function that posts a receive with
 * each function that completes a request (a partitioned receive only with those that wait), with
 * statuses and without. Rank 0 sends, rank 1 receives, and the size of each message in bytes is its
 * tag. Sizes differ, except between the two messages of a persistent receive. The buffer is larger
 * than the message, unless the message is partitioned.
 */
#include <mpi.h>

#include <stdio.h>

enum { ROOM = 4000, PARTS = 2 };
static char in[ROOM], out[ROOM];
static int rank, last; /* last: the tag of the last message */

/* ---- Completing ------------------------------------------------------------------------------ */

enum completion {
    BY_WAIT,
    BY_WAITALL,
    BY_WAITANY,
    BY_WAITSOME,
    BY_TEST,
    BY_TESTALL,
    BY_TESTANY,
    BY_TESTSOME,
    BY_GET_STATUS,
    COMPLETIONS
};

static void complete(enum completion how, int with_status, MPI_Request *request)
{
    MPI_Status status, *one = with_status ? &status : MPI_STATUS_IGNORE,
                       *all = with_status ? &status : MPI_STATUSES_IGNORE;
    int flag = 0, index, count = 0;
    switch (how) {
    case BY_WAIT:
        MPI_Wait(request, one);
        break;
    case BY_WAITALL:
        MPI_Waitall(1, request, all);
        break;
    case BY_WAITANY:
        MPI_Waitany(1, request, &index, one);
        break;
    case BY_WAITSOME:
        MPI_Waitsome(1, request, &count, &index, all);
        break;
    case BY_TEST:
        while (!flag)
            MPI_Test(request, &flag, one);
        break;
    case BY_TESTALL:
        while (!flag)
            MPI_Testall(1, request, &flag, all);
        break;
    case BY_TESTANY:
        while (!flag)
            MPI_Testany(1, request, &index, &flag, one);
        break;
    case BY_TESTSOME:
        while (!count)
            MPI_Testsome(1, request, &count, &index, all);
        break;
    default:
        while (!flag)
            MPI_Request_get_status(*request, &flag, one);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        break;
    }
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* Sends one message from rank 0 to rank 1. */
static void send(void)
{
    MPI_Send(out, last, MPI_BYTE, 1, last, MPI_COMM_WORLD);
}

/* Returns the tag argument, which may be a wildcard. */
static int tag(int is_any)
{
    return is_any ? MPI_ANY_TAG : last;
}

static int source(int is_any)
{
    return is_any ? MPI_ANY_SOURCE : 0;
}

/* `receive` is an expression for rank 1 that receives a message. It may use `status`. */
#define BLOCKING(receive)                                                                          \
    for (int with_status = 0; with_status < 2; with_status++) {                                    \
        MPI_Status place, *status = with_status ? &place : MPI_STATUS_IGNORE;                      \
        (void)status;                                                                              \
        last++;                                                                                    \
        if (rank == 0)                                                                             \
            send();                                                                                \
        else                                                                                       \
            receive;                                                                               \
    }

/* `post` is an expression for rank 1 that posts a receive and sets `request`. The receive is
 * completed in each way. */
#define COMPLETED(post)                                                                            \
    for (int how = 0; how < 2 * COMPLETIONS; how++) {                                              \
        MPI_Request request;                                                                       \
        last++;                                                                                    \
        if (rank == 0) {                                                                           \
            send();                                                                                \
        } else {                                                                                   \
            post;                                                                                  \
            complete(how / 2, how % 2, &request);                                                  \
        }                                                                                          \
    }

/* `make` is an expression for rank 1 that sets `request` to a persistent receive. It is started and
 * completed twice in each way. */
#define PERSISTENT(make)                                                                           \
    for (int how = 0; how < 2 * COMPLETIONS; how++) {                                              \
        MPI_Request request;                                                                       \
        last++;                                                                                    \
        if (rank == 0) {                                                                           \
            send();                                                                                \
            send();                                                                                \
        } else {                                                                                   \
            make;                                                                                  \
            MPI_Start(&request);                                                                   \
            complete(how / 2, how % 2, &request);                                                  \
            MPI_Startall(1, &request);                                                             \
            complete(how / 2, how % 2, &request);                                                  \
            MPI_Request_free(&request);                                                            \
        }                                                                                          \
    }

static MPI_Message match(int is_improbe)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 0;
    if (!is_improbe)
        MPI_Mprobe(0, last, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    while (is_improbe && !flag)
        MPI_Improbe(MPI_ANY_SOURCE, last, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    return message;
}

static void receive_all(int is_any)
{
    MPI_Message message;
    BLOCKING(MPI_Recv(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, status))
    BLOCKING(MPI_Sendrecv(out, 0, MPI_BYTE, MPI_PROC_NULL, 0, in, ROOM, MPI_BYTE, source(is_any),
                          tag(is_any), MPI_COMM_WORLD, status))
    BLOCKING(MPI_Sendrecv_replace(in, ROOM, MPI_BYTE, MPI_PROC_NULL, 0, source(is_any), tag(is_any),
                                  MPI_COMM_WORLD, status))
    BLOCKING((message = match(is_any), MPI_Mrecv(in, ROOM, MPI_BYTE, &message, status)))
    COMPLETED(MPI_Irecv(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, &request))
    COMPLETED((message = match(is_any), MPI_Imrecv(in, ROOM, MPI_BYTE, &message, &request)))
    PERSISTENT(
        MPI_Recv_init(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, &request))
}

/* ---- Functions of MPI 4 ---------------------------------------------------------------------- */

#if MPI_VERSION >= 4
static void receive_large(int is_any)
{
    MPI_Message message;
    BLOCKING(MPI_Recv_c(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, status))
    BLOCKING(MPI_Sendrecv_c(out, 0, MPI_BYTE, MPI_PROC_NULL, 0, in, ROOM, MPI_BYTE, source(is_any),
                            tag(is_any), MPI_COMM_WORLD, status))
    BLOCKING(MPI_Sendrecv_replace_c(in, ROOM, MPI_BYTE, MPI_PROC_NULL, 0, source(is_any),
                                    tag(is_any), MPI_COMM_WORLD, status))
    BLOCKING((message = match(is_any), MPI_Mrecv_c(in, ROOM, MPI_BYTE, &message, status)))
    COMPLETED(
        MPI_Irecv_c(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, &request))
    COMPLETED((message = match(is_any), MPI_Imrecv_c(in, ROOM, MPI_BYTE, &message, &request)))
    PERSISTENT(
        MPI_Recv_init_c(in, ROOM, MPI_BYTE, source(is_any), tag(is_any), MPI_COMM_WORLD, &request))
}

/* MPI libraries do not set the status of the receives of these functions, so only the sender knows
 * the size. Tools find the message that was sent by the source and the tag in the arguments. */
static void receive_and_send(void)
{
    COMPLETED(MPI_Isendrecv(out, 0, MPI_BYTE, MPI_PROC_NULL, 0, in, ROOM, MPI_BYTE, 0, last,
                            MPI_COMM_WORLD, &request))
    COMPLETED(MPI_Isendrecv_c(out, 0, MPI_BYTE, MPI_PROC_NULL, 0, in, ROOM, MPI_BYTE, 0, last,
                              MPI_COMM_WORLD, &request))
    COMPLETED(MPI_Isendrecv_replace(in, ROOM, MPI_BYTE, MPI_PROC_NULL, 0, 0, last, MPI_COMM_WORLD,
                                    &request))
    COMPLETED(MPI_Isendrecv_replace_c(in, ROOM, MPI_BYTE, MPI_PROC_NULL, 0, 0, last, MPI_COMM_WORLD,
                                      &request))
}

/* A message has two equal partitions, which fill the buffer, so the sizes are even. MPICH 4.0 fails
 * in the functions that test, so only those that wait complete these receives. */
static void receive_partitions(void)
{
    last += last % 2;
    for (int how = 0; how < 2 * BY_TEST; how++) {
        MPI_Request request;
        last += PARTS;
        if (rank == 0)
            MPI_Psend_init(out, PARTS, last / PARTS, MPI_BYTE, 1, last, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &request);
        else
            MPI_Precv_init(in, PARTS, last / PARTS, MPI_BYTE, 0, last, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &request);
        MPI_Start(&request);
        for (int part = 0; rank == 0 && part < PARTS; part++)
            MPI_Pready(part, request);
        complete(rank ? how / 2 : 0, rank && how % 2, &request);
        MPI_Request_free(&request);
    }
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int is_any = 0; is_any < 2; is_any++)
        receive_all(is_any);
#if MPI_VERSION >= 4
    for (int is_any = 0; is_any < 2; is_any++)
        receive_large(is_any);
    receive_and_send();
    receive_partitions();
#endif
    MPI_Finalize();
    return 0;
}
