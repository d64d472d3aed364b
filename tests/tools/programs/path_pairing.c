/* SPDX-License-Identifier: MIT */
/* Cases of path.c in which it is not obvious which message a receive gets. */
#include "path.h"

/* Sends two messages to rank 1, each after one unit of work. Their tags differ if `step` is 1. */
static void send_two(int step)
{
    for (int i = 0; i < 2; i++) {
        work(1);
        MPI_Send(&i, 1, MPI_INT, 1, 5 + i * step, world);
    }
}

/* Rank 1 first waits for the receive that it posted last, and then works. */
static void wait_backwards(int first_source, int first_tag, int second_source, int second_tag)
{
    int in[2];
    MPI_Request requests[2];
    MPI_Irecv(&in[0], 1, MPI_INT, first_source, first_tag, world, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, second_source, second_tag, world, &requests[1]);
    wait_for(&requests[1]);
    work(2);
    wait_for(&requests[0]);
}

void out_of_order(void)
{
    if (rank)
        wait_backwards(0, 5, 0, 5);
    else
        send_two(0);
}

void any_before(void)
{
    if (rank)
        wait_backwards(MPI_ANY_SOURCE, 5, 0, 5);
    else
        send_two(0);
}

void any_after(void)
{
    if (rank)
        wait_backwards(0, 5, MPI_ANY_SOURCE, MPI_ANY_TAG);
    else
        send_two(0);
}

void any_tag(void)
{
    if (rank)
        wait_backwards(0, MPI_ANY_TAG, 0, MPI_ANY_TAG);
    else
        send_two(1);
}

/* The first message is received last. */
void tags(void)
{
    int in[2];
    if (!rank) {
        send_two(1);
        return;
    }
    MPI_Recv(&in[1], 1, MPI_INT, 0, 6, world, MPI_STATUS_IGNORE);
    MPI_Recv(&in[0], 1, MPI_INT, 0, 5, world, MPI_STATUS_IGNORE);
    work(2);
}

/* The receive that was posted first is still incomplete when MPI_Waitany completes the other one,
 * whose message is sent earlier. */
void polled(void)
{
    int in[2], done = 0, index;
    MPI_Request requests[2];
    if (!rank) {
        work(1);
        MPI_Send(&done, 1, MPI_INT, 1, 1, world);
        work(2);
        MPI_Send(&done, 1, MPI_INT, 1, 0, world);
        return;
    }
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, i ? 0 : MPI_ANY_SOURCE, i, world, &requests[i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    work(1);
    wait_for(&requests[!index]);
    work(1);
}

/* Receives that are cancelled do not change the path. */
void cancelled(void)
{
    int value;
    for (int i = 0; i < 4 && rank; i++) {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 5, world, &request);
        MPI_Cancel(&request);
        if (i < 2)
            wait_for(&request);
        else
            MPI_Request_free(&request);
    }
    MPI_Barrier(world);
    out_of_order();
}

/* The first message is received by a request for which nobody waits. */
void abandoned(void)
{
    static int value;
    MPI_Request request;
    if (rank) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 5, world, &request);
        MPI_Request_free(&request);
    } else {
        MPI_Send(&value, 1, MPI_INT, 1, 5, world);
    }
    out_of_order();
}

/* Calls that fail, and calls with MPI_PROC_NULL, do not change the path. */
void failing(void)
{
    int value = 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Send(&value, -1, MPI_INT, !rank, 5, world);
    MPI_Send(&value, 1, MPI_INT, size, 5, world);
    MPI_Recv(&value, 1, MPI_INT, size, 5, world, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, -1, MPI_INT, 0, world);
    if (!rank) {
        MPI_Send((int[]){1, 2}, 2, MPI_INT, 1, 4, world);
        MPI_Send(&value, 1, MPI_INT, 1, 4, world);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 4, world, MPI_STATUS_IGNORE); /* truncated */
        MPI_Recv(&value, 1, MPI_INT, 0, 4, world, MPI_STATUS_IGNORE);
    }
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 4, world);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 4, world, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    chain();
}

void probed(void)
{
    int value = 0, flag = 0;
    MPI_Message message;
    MPI_Status status;
    if (!rank) {
        for (int i = 0; i < 3; i++) {
            work(1);
            MPI_Send(&value, 1, MPI_INT, 1, i, world);
        }
        return;
    }
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &message, &status);
    work(1);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, world, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Improbe(0, 2, world, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    wait_for(&request);
    work(2);
}
