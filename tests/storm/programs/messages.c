/* SPDX-License-Identifier: MIT */
/* Steps of point-to-point communication. In most steps, a thread sends to the next rank of its
 * communicator and receives from the previous rank; in a run of one process, it communicates with
 * itself. All processes carry out the same script, so the received data are known. */
#include "program.h"

enum { MOST = 64 };

static int next_rank(void)
{
    return (storm_rank + 1) % storm_size;
}

static int previous_rank(void)
{
    return (storm_rank + storm_size - 1) % storm_size;
}

static void fill(struct storm_thread *thread, int *data, int count, int rank)
{
    for (int i = 0; i < count; i++)
        data[i] = rank * 1000003 + thread->number * 10007 + (int)thread->prime * 101 + i;
}

static void compare(struct storm_thread *thread, const int *data, int count)
{
    int expected[MOST] = {0};
    fill(thread, expected, count, previous_rank());
    CHECK(!memcmp(expected, data, (size_t)count * sizeof *data));
    thread->prime++;
}

static int length(const long *a)
{
    return 1 + (int)(a[0] % MOST);
}

static void check_status(MPI_Status *status, int tag, int count)
{
    int got = -1;
    OK(Get_count, (status, MPI_INT, &got));
    CHECK(got == count && status->MPI_SOURCE == previous_rank() && status->MPI_TAG == tag);
}

static void sendrecv(struct storm_thread *thread, const long *a)
{
    int out[MOST], in[MOST] = {0}, count = length(a), tag = (int)(a[1] % 1000);
    MPI_Status status;
    fill(thread, out, count, storm_rank);
    OK(Sendrecv, (out, count, MPI_INT, next_rank(), tag, in, MOST, MPI_INT, previous_rank(), tag,
                  thread->comm, &status));
    check_status(&status, tag, count);
    compare(thread, in, count);
}

static void sendrecv_replace(struct storm_thread *thread, const long *a)
{
    int data[MOST], count = length(a);
    fill(thread, data, count, storm_rank);
    OK(Sendrecv_replace,
       (data, count, MPI_INT, next_rank(), 7, previous_rank(), 7, thread->comm, MPI_STATUS_IGNORE));
    compare(thread, data, count);
}

/* a[2] selects how the two requests are completed. */
static void isend_irecv(struct storm_thread *thread, const long *a)
{
    int out[MOST], in[MOST] = {0}, count = length(a), flag = 0, index, done, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(thread, out, count, storm_rank);
    OK(Irecv, (in, count, MPI_INT, previous_rank(), 3, thread->comm, &requests[0]));
    OK(Isend, (out, count, MPI_INT, next_rank(), 3, thread->comm, &requests[1]));
    switch (a[2] % 5) {
    case 0:
        OK(Waitall, (2, requests, statuses));
        break;
    case 1:
        OK(Wait, (&requests[1], MPI_STATUS_IGNORE));
        OK(Wait, (&requests[0], &statuses[0]));
        break;
    case 2:
        for (done = 0; done < 2; done++) {
            OK(Waitany, (2, requests, &index, MPI_STATUS_IGNORE));
            CHECK(index == 0 || index == 1);
        }
        break;
    case 3:
        for (done = 0; done < 2; done += flag) {
            OK(Waitsome, (2, requests, &flag, indices, statuses));
            CHECK(flag == 1 || flag == 2);
        }
        break;
    default:
        while (!flag)
            OK(Testall, (2, requests, &flag, MPI_STATUSES_IGNORE));
    }
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    compare(thread, in, count);
}

static void probe_recv(struct storm_thread *thread, const long *a)
{
    int out[MOST], in[MOST] = {0}, count = length(a), flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    fill(thread, out, count, storm_rank);
    OK(Isend, (out, count, MPI_INT, next_rank(), 5, thread->comm, &request));
    switch (a[1] % 3) {
    case 0:
        OK(Probe, (previous_rank(), 5, thread->comm, &status));
        OK(Recv, (in, MOST, MPI_INT, status.MPI_SOURCE, 5, thread->comm, &status));
        break;
    case 1:
        while (!flag)
            OK(Iprobe, (MPI_ANY_SOURCE, MPI_ANY_TAG, thread->comm, &flag, &status));
        OK(Recv, (in, MOST, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, thread->comm, &status));
        break;
    default:
        OK(Mprobe, (previous_rank(), 5, thread->comm, &message, &status));
        OK(Mrecv, (in, MOST, MPI_INT, &message, &status));
    }
    check_status(&status, 5, count);
    OK(Wait, (&request, MPI_STATUS_IGNORE));
    compare(thread, in, count);
}

static void persistent(struct storm_thread *thread, const long *a)
{
    int out[MOST], in[MOST] = {0}, count = length(a);
    MPI_Request requests[2];
    OK(Send_init, (out, count, MPI_INT, next_rank(), 9, thread->comm, &requests[0]));
    OK(Recv_init, (in, count, MPI_INT, previous_rank(), 9, thread->comm, &requests[1]));
    for (long i = 0; i <= a[1] % 3; i++) {
        fill(thread, out, count, storm_rank);
        OK(Startall, (2, requests));
        OK(Waitall, (2, requests, MPI_STATUSES_IGNORE));
        compare(thread, in, count);
    }
    OK(Request_free, (&requests[0]));
    OK(Request_free, (&requests[1]));
}

static void to_nobody(struct storm_thread *thread, const long *a)
{
    int data = 5;
    MPI_Status status;
    MPI_Request request;
    OK(Send, (&data, 1, MPI_INT, MPI_PROC_NULL, 1, thread->comm));
    OK(Recv, (&data, 1, MPI_INT, MPI_PROC_NULL, 1, thread->comm, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && data == 5);
    if (a[0] % 2) {
        OK(Issend, (&data, 1, MPI_INT, MPI_PROC_NULL, 1, thread->comm, &request));
        OK(Wait, (&request, MPI_STATUS_IGNORE));
    }
}

static void cancel(struct storm_thread *thread, const long *a)
{
    int data = 0, flag = 0;
    MPI_Request request;
    MPI_Status status;
    (void)a;
    OK(Irecv, (&data, 1, MPI_INT, previous_rank(), 31000, thread->comm, &request));
    OK(Request_get_status, (request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(Cancel, (&request));
    OK(Wait, (&request, &status));
    OK(Test_cancelled, (&status, &flag));
    CHECK(flag);
}

/* Makes many fast calls, so that events of other threads and signals of timers occur
 * during them. */
static void ask(struct storm_thread *thread, const long *a)
{
    for (long i = 0; i < a[0]; i++) {
        int rank = -77, size = -77;
        const int error = M(Comm_rank, (thread->comm, &rank));
        CHECK(error == MPI_SUCCESS && rank == storm_rank);
        if (i % 4 == 0) {
            OK(Comm_size, (thread->comm, &size));
            CHECK(size == storm_size);
        }
        if (i % 8 == 0)
            CHECK(M(Wtime, ()) >= 0);
    }
}

const struct storm_action storm_message_actions[] = {{"sendrecv", sendrecv},
                                                     {"sendrecv_replace", sendrecv_replace},
                                                     {"isend_irecv", isend_irecv},
                                                     {"probe_recv", probe_recv},
                                                     {"persistent", persistent},
                                                     {"to_nobody", to_nobody},
                                                     {"cancel", cancel},
                                                     {"ask", ask},
                                                     {0}};
