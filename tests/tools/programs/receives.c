/* SPDX-License-Identifier: MIT */
/*
 * Receives that one call posts and another one completes, each combination in its own function. The
 * received data are smaller than the buffer. The program runs all functions, on MPI_COMM_SELF or a
 * copy of it.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 16, MANY = 40 };
static char in[MANY][ROOM], out[ROOM];

/* These are macros, so that the call sites are in the functions that use them. */
#define POST(tag, request) MPI_Irecv(in[tag], ROOM, MPI_BYTE, 0, tag, MPI_COMM_SELF, request)
#define SEND(tag, bytes, request) MPI_Isend(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_SELF, request)

static void finish(MPI_Request *request)
{
    PMPI_Wait(request, MPI_STATUS_IGNORE);
}

static void wait_ignoring(void)
{
    MPI_Request receive, send;
    POST(0, &receive);
    SEND(0, 8, &send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    finish(&send);
}

static void test_until(void)
{
    MPI_Request receive, send;
    int flag = 0;
    POST(0, &receive);
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE); /* not yet */
    SEND(0, 9, &send);
    while (!flag)
        MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    finish(&send);
}

/* Also waits for sends, of which two go to MPI_PROC_NULL and may have requests with the same
 * value. */
static void waitall_ignoring(void)
{
    MPI_Request requests[2 * MANY + 2];
    for (int i = 0; i < MANY; i++)
        POST(i, &requests[2 * i]);
    for (int i = 0; i < MANY; i++)
        SEND(i, i, &requests[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(out, 77, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[2 * MANY + i]);
    MPI_Waitall(2 * MANY + 2, requests, MPI_STATUSES_IGNORE);
}

static void waitall(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    requests[0] = MPI_REQUEST_NULL;
    POST(1, &requests[1]);
    POST(2, &requests[2]);
    SEND(2, 20, &requests[3]);
    SEND(1, 10, &requests[0]);
    MPI_Waitall(4, requests, statuses);
}

static void testall_ignoring(void)
{
    MPI_Request requests[3];
    int flag = 0;
    POST(1, &requests[0]);
    POST(2, &requests[1]);
    SEND(2, 1, &requests[2]);
    finish(&requests[2]);
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); /* not all */
    SEND(1, 2, &requests[2]);
    while (!flag)
        MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
}

static void waitany_and_testany(void)
{
    MPI_Request requests[2], send;
    int index, flag = 0;
    POST(1, &requests[0]);
    POST(2, &requests[1]);
    SEND(2, 100, &send);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    finish(&send);
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE); /* none */
    SEND(1, 10, &send);
    while (!flag)
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    finish(&send);
}

static void waitsome_and_testsome(void)
{
    MPI_Request requests[4], sends[4];
    int indices[4], count = 0, done = 0;
    for (int i = 0; i < 4; i++)
        POST(i, &requests[i]);
    for (int i = 3; i >= 2; i--)
        SEND(i, 1 << (4 * i), &sends[i]);
    MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    for (int i = 1; i >= 0; i--)
        SEND(i, 1 << (4 * i), &sends[i]);
    for (done = count; done < 4; done += count)
        MPI_Testsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        finish(&sends[i]);
}

static void imrecv(void)
{
    MPI_Request receive, send;
    MPI_Message message;
    SEND(0, 5, &send);
    MPI_Mprobe(0, 0, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in[0], ROOM, MPI_BYTE, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    finish(&send);
}

/* Uses a separate communicator, which is not an argument of the receives. Tools know the
 * communicator from the probes. */
static void matched(void)
{
    MPI_Comm comm;
    MPI_Request receive, send;
    MPI_Message message;
    int flag = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_name(comm, "matched");
    MPI_Isend(out, 7, MPI_BYTE, 0, 0, comm, &send);
    MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in[0], ROOM, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    finish(&send);
    MPI_Isend(out, 6, MPI_BYTE, 0, 0, comm, &send);
    while (!flag)
        MPI_Improbe(0, 0, comm, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in[0], ROOM, MPI_BYTE, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    finish(&send);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

static void cancelled(void)
{
    MPI_Request receive;
    POST(0, &receive);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

static void from_nobody(void)
{
    MPI_Request receive;
    MPI_Irecv(in[0], ROOM, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

static void freed(void)
{
    MPI_Request receive, send;
    POST(0, &receive);
    MPI_Request_free(&receive);
    SEND(0, 8, &send);
    finish(&send);
}

/* The first receive is completed by a call that no layer sees. The second one may have the same
 * handle. */
static void completed_unseen(void)
{
    MPI_Request receive, send;
    POST(0, &receive);
    SEND(0, 8, &send);
    finish(&receive);
    finish(&send);
    POST(0, &receive);
    SEND(0, 3, &send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    finish(&send);
}

static void persistent(void)
{
    MPI_Request receives[2], sends[2];
    for (int i = 0; i < 2; i++)
        MPI_Recv_init(in[i], ROOM, MPI_BYTE, 0, i, MPI_COMM_SELF, &receives[i]);
    for (int bytes = 8; bytes <= 24; bytes += 8) {
        MPI_Start(&receives[0]);
        SEND(0, bytes, &sends[0]);
        MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
        finish(&sends[0]);
    }
    MPI_Wait(&receives[1], MPI_STATUS_IGNORE); /* not started */
    MPI_Startall(2, receives);
    SEND(0, 100, &sends[0]);
    SEND(1, 200, &sends[1]);
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        finish(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
}

/* Handles are reused immediately. */
static void again_and_again(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 1000; i++) {
        POST(0, &requests[0]);
        SEND(0, 2, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void *wait_for(void *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return NULL;
}

static void by_another_thread(void)
{
    MPI_Request receive, send;
    pthread_t thread;
    POST(0, &receive);
    SEND(0, 11, &send);
    pthread_create(&thread, NULL, wait_for, &receive);
    pthread_join(thread, NULL);
    finish(&send);
}

static void *post_and_wait(void *tag)
{
    MPI_Request requests[2];
    for (int i = 0; i < 500; i++) {
        POST(*(int *)tag, &requests[0]);
        SEND(*(int *)tag, 1 + *(int *)tag, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[3];
    int tags[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, post_and_wait, &tags[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* A receive that is posted while profiling is off does not count. A receive that was posted earlier
 * counts, although it completes while profiling is off. */
static void switched(void)
{
    MPI_Request receives[2], sends[2];
    POST(0, &receives[0]);
    MPI_Pcontrol(0);
    POST(1, &receives[1]);
    for (int i = 0; i < 2; i++)
        SEND(i, 40 + i, &sends[i]);
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    MPI_Pcontrol(1, (char *)NULL);
    for (int i = 0; i < 2; i++)
        finish(&sends[i]);
}

static void switch_layer(int enabled)
{
    int provided, index, count;
    MPI_T_cvar_handle handle;
    PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("qmpi.profile.enabled", &index) == MPI_SUCCESS) {
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
        MPI_T_cvar_write(handle, &enabled);
        MPI_T_cvar_handle_free(&handle);
    }
    PMPI_T_finalize();
}

/* The second receive may have the handle of the first one, whose completion the layer does not see.
 * The layer must not take one for the other. */
static void completed_while_off(void)
{
    MPI_Request receive, send;
    POST(0, &receive);
    SEND(0, 8, &send);
    switch_layer(0);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    POST(1, &receive);
    switch_layer(1);
    finish(&send);
    SEND(1, 1000, &send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    finish(&send);
}

#ifdef MPI_SESSION_NULL
static void isendrecv(void)
{
    MPI_Request request;
    MPI_Isendrecv(out, 6, MPI_BYTE, 0, 0, in[0], ROOM, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif

/* The file is shorter than the buffer. In Open MPI, however, a nonblocking read that asks for more
 * than there is in the file does not complete. */
#ifdef OPEN_MPI
enum { ASKED = 7 };
#else
enum { ASKED = ROOM };
#endif

static void file(void)
{
    MPI_File shorter;
    MPI_Request request;
    MPI_File_open(MPI_COMM_SELF, "short",
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &shorter);
    PMPI_File_write_at(shorter, 0, out, 7, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_iread_at(shorter, 0, in[0], ASKED, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&shorter);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    wait_ignoring();
    test_until();
    waitall_ignoring();
    waitall();
    testall_ignoring();
    waitany_and_testany();
    waitsome_and_testsome();
    imrecv();
    matched();
    cancelled();
    from_nobody();
    freed();
    completed_unseen();
    persistent();
    again_and_again();
    if (provided == MPI_THREAD_MULTIPLE) {
        by_another_thread();
        in_threads();
    }
    switched();
    completed_while_off();
    file();
#ifdef MPI_SESSION_NULL
    isendrecv();
#endif
    MPI_Finalize();
    return 0;
}
