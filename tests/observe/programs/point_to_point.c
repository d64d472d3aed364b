/* SPDX-License-Identifier: MIT */
/*
 * All functions that send, receive or probe messages, except persistent and partitioned ones
 * (persistent.c). Rank 0 of a communicator of two ranks sends, and rank 1 receives. The
 * communicator has the reverse order of MPI_COMM_WORLD, so that its ranks differ from those in
 * MPI_COMM_WORLD. Special cases are MPI_PROC_NULL, empty messages, buffers larger than the message,
 * datatypes with gaps, MPI_BOTTOM, wildcards, and cancelled operations.
 */
#include "expect.h"

static int me, peer, world_peer; /* the ranks in `comm`, and the peer's rank in MPI_COMM_WORLD */
static MPI_Comm comm;
static int numbers[64];

#define SENDS (me == 0)

/* Rank 0 sends four ints with tag 7, or rank 1 receives them, by a call that is not observed. */
static void counterpart(void)
{
    if (SENDS)
        PMPI_Send(numbers, 4, MPI_INT, peer, 7, comm);
    else
        PMPI_Recv(numbers, 4, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE);
}

static const char *sent(int bytes, int tag)
{
    return says("@ sent=%d transfers=>%d/%d/%d/%d", bytes, peer, world_peer, tag, bytes);
}

static const char *received(int bytes, int tag)
{
    return says("@ received=%d transfers=<%d/%d/%d/%d", bytes, peer, world_peer, tag, bytes);
}

/* Returns the fields of a receive that gets `bytes` bytes in a buffer of `room` bytes. */
static const char *received_of(int bytes, int tag, int room)
{
    return says("%s received_before=%d transfers_before=<%d/%d/%d/%d", received(bytes, tag), room,
                peer, world_peer, tag, room);
}

#define SEND_BOTH(X)                                                                               \
    do {                                                                                           \
        if (SENDS) {                                                                               \
            DO(X, (numbers, 4, MPI_INT, peer, 7, comm), sent(16, 7));                              \
            DO(X##_c, (numbers, 4, MPI_INT, peer, 7, comm), sent(16, 7));                          \
        } else {                                                                                   \
            counterpart();                                                                         \
            counterpart();                                                                         \
        }                                                                                          \
    } while (0)

#define ISEND_BOTH(X)                                                                              \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        if (SENDS) {                                                                               \
            DO_AND_WAIT(X, (numbers, 4, MPI_INT, peer, 7, comm, &request), request, sent(16, 7));  \
            DO_AND_WAIT(X##_c, (numbers, 4, MPI_INT, peer, 7, comm, &request), request,            \
                        sent(16, 7));                                                              \
        } else {                                                                                   \
            counterpart();                                                                         \
            counterpart();                                                                         \
        }                                                                                          \
    } while (0)

/* A ready send needs a receive that is already posted. */
static void ready_sends(void)
{
    for (int form = 0; form < 4; form++) {
        MPI_Request request;
        if (!SENDS) {
            PMPI_Irecv(numbers, 4, MPI_INT, peer, 7, comm, &request);
            PMPI_Barrier(comm);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        PMPI_Barrier(comm);
        if (form == 0)
            DO(Rsend, (numbers, 4, MPI_INT, peer, 7, comm), sent(16, 7));
        else if (form == 1)
            DO(Rsend_c, (numbers, 4, MPI_INT, peer, 7, comm), sent(16, 7));
        else if (form == 2)
            DO_AND_WAIT(Irsend, (numbers, 4, MPI_INT, peer, 7, comm, &request), request,
                        sent(16, 7));
        else
            DO_AND_WAIT(Irsend_c, (numbers, 4, MPI_INT, peer, 7, comm, &request), request,
                        sent(16, 7));
    }
}

static void sends(void)
{
    static char room[4096];
    void *detached;
    int size;
    MPI_Count large;
    MPI_Request flush;
    (void)large;
    SEND_BOTH(Send);
    SEND_BOTH(Ssend);
    ISEND_BOTH(Isend);
    ISEND_BOTH(Issend);
    ready_sends();
    DO(Buffer_attach, (room, (int)sizeof room), "");
    SEND_BOTH(Bsend);
    ISEND_BOTH(Ibsend);
    DO(Buffer_flush, (), "");
    DO_AND_WAIT(Buffer_iflush, (&flush), flush, "");
    DO(Buffer_detach, (&detached, &size), "");
    WHERE_EXISTS(Comm_attach_buffer, DO(Comm_attach_buffer, (comm, room, (int)sizeof room), "@");
                 SEND_BOTH(Bsend); DO(Comm_flush_buffer, (comm), "@");
                 DO_AND_WAIT(Comm_iflush_buffer, (comm, &flush), flush, "@");
                 DO(Comm_detach_buffer, (comm, &detached, &size), "@");
                 DO(Comm_attach_buffer_c, (comm, room, (MPI_Count)sizeof room), "@");
                 DO(Comm_detach_buffer_c, (comm, &detached, &large), "@"));
}

/* Each message has four ints; some receives have room for more. */
static void receives(void)
{
    MPI_Status status;
    MPI_Request request;
    if (SENDS) {
        for (int i = 0; i < 8; i++)
            counterpart();
        return;
    }
    DO(Recv, (numbers, 4, MPI_INT, peer, 7, comm, &status), received(16, 7));
    DO(Recv_c, (numbers, 4, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE), received(16, 7));
    DO(Recv, (numbers, 10, MPI_INT, peer, 7, comm, &status), received_of(16, 7, 40));
    EXPECT_TRUE(status.MPI_SOURCE == peer && status.MPI_TAG == 7);
    DO(Recv, (numbers, 10, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE), received_of(16, 7, 40));
    DO(Recv_c, (numbers, 10, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE), received_of(16, 7, 40));
    DO_AND_WAIT(Irecv, (numbers, 10, MPI_INT, peer, 7, comm, &request), request,
                says("%s came=16", received(40, 7)));
    DO_AND_WAIT(Irecv_c, (numbers, 4, MPI_INT, peer, 7, comm, &request), request, received(16, 7));
    DO(Recv, (numbers, 9, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE),
       says("%s received_before=36 transfers_before=<any/-/any/36", received(16, 7)));
}

static void exchange(void)
{
    MPI_Request request;
    const char *fields = says("@ sent=16 received=16 transfers=>%d/%d/%d/16,<%d/%d/%d/16", peer,
                              world_peer, me == 0 ? 3 : 4, peer, world_peer, me == 0 ? 4 : 3);
    const char *longer =
        says("%s received_before=80 transfers_before=>%d/%d/%d/16,<%d/%d/%d/80", fields, peer,
             world_peer, me == 0 ? 3 : 4, peer, world_peer, me == 0 ? 4 : 3);
    const int to = me == 0 ? 3 : 4, from = me == 0 ? 4 : 3;
    int *in = numbers + 32;
    DO(Sendrecv,
       (numbers, 4, MPI_INT, peer, to, in, 4, MPI_INT, peer, from, comm, MPI_STATUS_IGNORE),
       fields);
    DO(Sendrecv_c,
       (numbers, 4, MPI_INT, peer, to, in, 4, MPI_INT, peer, from, comm, MPI_STATUS_IGNORE),
       fields);
    DO(Sendrecv,
       (numbers, 4, MPI_INT, peer, to, in, 20, MPI_INT, peer, from, comm, MPI_STATUS_IGNORE),
       longer);
    DO(Sendrecv_replace, (numbers, 4, MPI_INT, peer, to, peer, from, comm, MPI_STATUS_IGNORE),
       fields);
    DO(Sendrecv_replace_c, (numbers, 4, MPI_INT, peer, to, peer, from, comm, MPI_STATUS_IGNORE),
       fields);
    DO_AND_WAIT(Isendrecv,
                (numbers, 4, MPI_INT, peer, to, in, 4, MPI_INT, peer, from, comm, &request),
                request, fields);
    DO_AND_WAIT(Isendrecv_c,
                (numbers, 4, MPI_INT, peer, to, in, 4, MPI_INT, peer, from, comm, &request),
                request, fields);
    DO_AND_WAIT(Isendrecv_replace, (numbers, 4, MPI_INT, peer, to, peer, from, comm, &request),
                request, fields);
    DO_AND_WAIT(Isendrecv_replace_c, (numbers, 4, MPI_INT, peer, to, peer, from, comm, &request),
                request, fields);
    /* Each call has MPI_PROC_NULL in one direction. */
    if (SENDS)
        DO(Sendrecv,
           (numbers, 4, MPI_INT, peer, 7, in, 4, MPI_INT, MPI_PROC_NULL, 5, comm,
            MPI_STATUS_IGNORE),
           says("@ sent=16 transfers=>%d/%d/7/16,<null/-/*/0", peer, world_peer));
    else
        DO(Sendrecv,
           (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
            comm, MPI_STATUS_IGNORE),
           says("@ received=16 transfers=>null/-/7/0,<%d/%d/7/16 "
                "transfers_before=>null/-/7/0,<any/-/any/16",
                peer, world_peer));
}

static void matched(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    if (SENDS) {
        for (int i = 0; i < 6; i++)
            counterpart();
        return;
    }
    /* A matched receive has no arguments for communicator, source and tag. They are known from the
     * probe that found the message. */
    const char *mine = says("@ received=16 transfers=<%d/%d/7/16 received_before=24 "
                            "transfers_before=<%d/%d/7/24",
                            peer, world_peer, peer, world_peer);
    const char *room = says("@ received=24 came=16 transfers=<%d/%d/7/24", peer, world_peer);
    DO(Probe, (peer, 7, comm, &status), "@");
    DO(Mprobe, (MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status), "@");
    EXPECT_TRUE(status.MPI_SOURCE == peer && status.MPI_TAG == 7);
    DO(Mrecv, (numbers, 6, MPI_INT, &message, &status), mine);
    DO(Mprobe, (peer, 7, comm, &message, MPI_STATUS_IGNORE), "@");
    DO(Mrecv_c, (numbers, 6, MPI_INT, &message, MPI_STATUS_IGNORE), mine);
    DO(Mprobe, (peer, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE), "@");
    DO_AND_WAIT(Imrecv, (numbers, 6, MPI_INT, &message, &request), request, room);
    /* There is no message with this tag. */
    DO(Improbe, (peer, 99, comm, &flag, &message, MPI_STATUS_IGNORE), "@");
    EXPECT_TRUE(!flag);
    while (!flag)
        DO(Improbe, (peer, 7, comm, &flag, &message, MPI_STATUS_IGNORE), "@");
    DO_AND_WAIT(Imrecv_c, (numbers, 6, MPI_INT, &message, &request), request, room);
    for (flag = 0; !flag;)
        DO(Iprobe, (MPI_ANY_SOURCE, 7, comm, &flag, &status), "@");
    DO(Recv, (numbers, 4, MPI_INT, status.MPI_SOURCE, 7, comm, MPI_STATUS_IGNORE), received(16, 7));
    /* This probe is not observed, so the communicator and the peer's rank in
     * MPI_COMM_WORLD are unknown. */
    PMPI_Mprobe(peer, 7, comm, &message, MPI_STATUS_IGNORE);
    DO(Mrecv, (numbers, 4, MPI_INT, &message, MPI_STATUS_IGNORE),
       says("received=16 transfers=<%d/-/7/16 transfers_before=<any/-/any/16", peer));
}

static void nobody_and_nothing(void)
{
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    const char *to = "@ transfers=>null/-/7/0", *from = "@ transfers=<null/-/*/0";
    DO(Send, (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, comm), to);
    DO(Ssend, (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, comm), to);
    DO_AND_WAIT(Isend, (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, comm, &request), request, to);
    DO(Recv, (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, comm, MPI_STATUS_IGNORE), from);
    DO_AND_WAIT(Irecv, (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, comm, &request), request, from);
    DO(Sendrecv_replace,
       (numbers, 4, MPI_INT, MPI_PROC_NULL, 7, MPI_PROC_NULL, 7, comm, MPI_STATUS_IGNORE),
       "@ transfers=>null/-/7/0,<null/-/*/0");
    DO(Mrecv, (numbers, 4, MPI_INT, &message, MPI_STATUS_IGNORE), "transfers=<null/-/*/0");
    if (SENDS) {
        DO(Send, (NULL, 0, MPI_INT, peer, 7, comm), sent(0, 7));
        DO(Send, (NULL, 0, MPI_INT, peer, 7, comm), sent(0, 7));
    } else {
        DO(Recv, (NULL, 0, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE), received(0, 7));
        DO(Recv, (numbers, 4, MPI_INT, peer, 7, comm, MPI_STATUS_IGNORE), received_of(0, 7, 16));
    }
}

static void datatypes(void)
{
    MPI_Datatype gaps, three, absolute, nothing;
    MPI_Aint address;
    PMPI_Type_vector(3, 2, 5, MPI_INT, &gaps); /* 6 of 12 ints */
    PMPI_Type_contiguous(3, MPI_INT, &three);
    PMPI_Get_address(numbers, &address);
    PMPI_Type_create_hindexed(1, (int[]){5}, &address, MPI_INT, &absolute);
    PMPI_Type_contiguous(0, MPI_INT, &nothing);
    PMPI_Type_commit(&gaps);
    PMPI_Type_commit(&three);
    PMPI_Type_commit(&absolute);
    PMPI_Type_commit(&nothing);
    if (SENDS) {
        DO(Send, (numbers, 2, gaps, peer, 7, comm), sent(48, 7));
        DO(Send, (MPI_BOTTOM, 1, absolute, peer, 7, comm), sent(20, 7));
        DO(Send, (numbers, 9, nothing, peer, 7, comm), sent(0, 7));
        /* The next message has four ints and is received in elements of three ints, so the number
         * of elements is not whole. */
        DO(Send, (numbers, 4, MPI_INT, peer, 7, comm), sent(16, 7));
        DO(Send, (numbers, 7, MPI_BYTE, peer, 7, comm), sent(7, 7));
        DO(Send, (numbers, 7, MPI_DOUBLE_INT, peer, 7, comm), sent(84, 7));
    } else {
        DO(Recv, (numbers, 5, gaps, peer, 7, comm, MPI_STATUS_IGNORE), received_of(48, 7, 120));
        DO(Recv, (MPI_BOTTOM, 1, absolute, peer, 7, comm, MPI_STATUS_IGNORE), received(20, 7));
        DO(Recv, (numbers, 9, nothing, peer, 7, comm, MPI_STATUS_IGNORE), received(0, 7));
        DO(Recv, (numbers, 8, three, peer, 7, comm, MPI_STATUS_IGNORE), received_of(16, 7, 96));
        DO(Recv, (numbers, 60, MPI_BYTE, peer, 7, comm, MPI_STATUS_IGNORE), received_of(7, 7, 60));
        DO(Recv, (numbers, 8, MPI_DOUBLE_INT, peer, 7, comm, MPI_STATUS_IGNORE),
           received_of(84, 7, 96));
    }
    PMPI_Type_free(&gaps);
    PMPI_Type_free(&three);
    PMPI_Type_free(&absolute);
    PMPI_Type_free(&nothing);
}

/* A cancelled receive completes without data. Then the process sends a message to itself. */
static void cancelled_and_to_self(void)
{
    MPI_Request request, saved;
    MPI_Status status;
    int flag = 0;
    DO(Irecv, (numbers, 4, MPI_INT, MPI_ANY_SOURCE, 99, comm, &request),
       says("@ received=16 came=0 transfers=<any/-/99/16 started=%s", REQUEST(request)));
    DO(Cancel, (&request), "");
    saved = request;
    DO(Wait, (&request, &status), says("completed=%s", REQUEST(saved)));
    DO(Test_cancelled, (&status, &flag), "");
    EXPECT_TRUE(flag);
    int world;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world);
    DO(Sendrecv,
       (numbers, 4, MPI_INT, 0, 1, numbers + 8, 4, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE),
       says("@self sent=16 received=16 transfers=>0/%d/1/16,<0/%d/1/16", world, world));
}

int main(int argc, char **argv)
{
    int rank, size;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 2);
    PMPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    PMPI_Comm_rank(comm, &me);
    EXPECT_TRUE(me == 1 - rank);
    peer = 1 - me;
    world_peer = 1 - rank;
    expect_on(comm);
    sends();
    receives();
    exchange();
    matched();
    nobody_and_nothing();
    datatypes();
    cancelled_and_to_self();
    expect_on(MPI_COMM_WORLD);
    PMPI_Comm_free(&comm);
    expect_finalize();
    return 0;
}
