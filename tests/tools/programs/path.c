/* SPDX-License-Identifier: MIT */
/*
 * Programs whose critical path is known by construction: path CASE. Work is sleep outside MPI,
 * which needs no processor, in units of UNIT milliseconds; tests/tools/test_profile_path.py knows
 * for each case how many units the critical path has. Each rank prints by how many seconds it has
 * slept too long, because the machine was busy.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UNIT = 60, ROUNDS = 3 };

static int rank, size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static double excess; /* by which this rank has slept too long */
static MPI_Comm world;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void work(int units)
{
    const long ms = (long)UNIT * units;
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    const double begin = now();
    nanosleep(&time, NULL);
    pthread_mutex_lock(&lock);
    excess += now() - begin - 1e-3 * (double)ms;
    pthread_mutex_unlock(&lock);
}

/* Work of one rank alone. */
static void work_of(int who, int units)
{
    if (rank == who)
        work(units);
}

/* ---- Point-to-point -------------------------------------------------------------------------- */

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* One rank after the other. */
static void chain_on(MPI_Comm comm, sender *send)
{
    int value = 0, place, count;
    MPI_Comm_rank(comm, &place);
    MPI_Comm_size(comm, &count);
    for (int i = 0; i < ROUNDS; i++) {
        if (i || place)
            MPI_Recv(&value, 1, MPI_INT, (place + count - 1) % count, i, comm, MPI_STATUS_IGNORE);
        work(1);
        if (i < ROUNDS - 1 || place < count - 1)
            send(&value, 1, MPI_INT, (place + 1) % count, i + (place == count - 1), comm);
    }
}

static int wait_for(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

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

static int send_and_free(const void *data, int count, MPI_Datatype type, int dest, int tag,
                         MPI_Comm comm)
{
    static int copy;
    MPI_Request request;
    memcpy(&copy, data, sizeof copy);
    MPI_Isend(&copy, count, type, dest, tag, comm, &request);
    return MPI_Request_free(&request);
}

static void chain(void)
{
    chain_on(world, MPI_Send);
}

static void chain_ssend(void)
{
    chain_on(world, MPI_Ssend);
}

static void chain_isend(void)
{
    chain_on(world, send_nonblocking);
}

static void chain_issend(void)
{
    chain_on(world, send_synchronous);
}

static void chain_bsend(void)
{
    static char buffer[1000 + 100 * MPI_BSEND_OVERHEAD];
    void *old;
    int length;
    MPI_Buffer_attach(buffer, sizeof buffer);
    chain_on(world, MPI_Bsend);
    MPI_Buffer_detach(&old, &length);
}

static void chain_persistent(void)
{
    chain_on(world, send_persistent);
}

static void chain_freed(void)
{
    chain_on(world, send_and_free);
}

/* Blocks go through all ranks. */
static void pipeline(void)
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

/* Rank 0 takes what comes first, and works on it. */
static void workers(void)
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

/* Neighbors in a ring wait for each other, and each in turn has more work. */
static void halo(void)
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

static void halo_persistent(void)
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

/* A ring that shifts, and of which each rank in turn has work. */
static void shift(void)
{
    for (int i = 0; i < 2 * size; i++) {
        int out = i, in;
        work_of(i % size, 1);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                     i % 2 ? (rank + size - 1) % size : MPI_ANY_SOURCE, MPI_ANY_TAG, world,
                     MPI_STATUS_IGNORE);
    }
}

/* ---- Which clock belongs to which message ---------------------------------------------------- */

/* Rank 0 sends one message after each unit, with tags that differ if `step` is 1. */
static void send_two(int step)
{
    for (int i = 0; i < 2; i++) {
        work(1);
        MPI_Send(&i, 1, MPI_INT, 1, 5 + i * step, world);
    }
}

/* Rank 1 waits first for the receive that it posted last, and works then. */
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

static void out_of_order(void)
{
    if (rank)
        wait_backwards(0, 5, 0, 5);
    else
        send_two(0);
}

static void any_before(void)
{
    if (rank)
        wait_backwards(MPI_ANY_SOURCE, 5, 0, 5);
    else
        send_two(0);
}

static void any_after(void)
{
    if (rank)
        wait_backwards(0, 5, MPI_ANY_SOURCE, MPI_ANY_TAG);
    else
        send_two(0);
}

static void any_tag(void)
{
    if (rank)
        wait_backwards(0, MPI_ANY_TAG, 0, MPI_ANY_TAG);
    else
        send_two(1);
}

/* The first message is received last. */
static void tags(void)
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

/* The message is there, and what it depends on, before the receive that does not complete first. */
static void polled(void)
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

/* Receives that come to nothing take no clock. */
static void cancelled(void)
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

/* The first message is received by a request that nobody waits for. */
static void abandoned(void)
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

/* Calls that fail send nothing. */
static void failing(void)
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

static void probed(void)
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

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Each rank in turn works, and the others wait for it. */
static void alternate(void)
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

static void rooted(void)
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

/* The root does not depend on the others, nor they on it. */
static void against_root(void)
{
    int in[64], out[64] = {0};
    work_of(1, 3);
    MPI_Bcast(out, 1, MPI_INT, 0, world);
    work_of(0, 3);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 1, world);
    work_of(0, 1);
}

/* Ranks depend on lower ones. */
static void scans(void)
{
    int in = 0, out = 0;
    work_of(size - 1, 2);
    MPI_Scan(&out, &in, 1, MPI_INT, MPI_SUM, world);
    work_of(0, 3);
    MPI_Exscan(&out, &in, 1, MPI_INT, MPI_SUM, world);
    work_of(size - 1, 1);
}

static void nonblocking(void)
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

static void persistent_collective(void)
{
#if MPI_VERSION >= 4
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

static void communicators(void)
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

/* Two groups in turn. */
static void intercommunicator(void)
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

/* Ranks of a line learn of one neighbor after the other. */
static void neighbors(void)
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

static void windows(void)
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

/* ---- Threads --------------------------------------------------------------------------------- */

static void *chain_of_thread(void *comm)
{
    chain_on(*(MPI_Comm *)comm, MPI_Send);
    return NULL;
}

/* Two chains at the same time. */
static void threads(void)
{
    pthread_t other;
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    pthread_create(&other, NULL, chain_of_thread, &comm);
    chain();
    pthread_join(other, NULL);
    MPI_Comm_free(&comm);
}

enum { THREADS = 3, MESSAGES = 200 };

/* All threads of rank 1 receive what all of rank 0 send. */
static void *same_messages(void *unused)
{
    int sum = 0;
    (void)unused;
    for (int i = 0; i < MESSAGES; i++) {
        int value = i;
        MPI_Request request;
        if (!rank) {
            MPI_Send(&value, 1, MPI_INT, 1, 0, world);
            continue;
        }
        if (i % 3)
            MPI_Irecv(&value, 1, MPI_INT, i % 3 == 1 ? 0 : MPI_ANY_SOURCE, 0, world, &request);
        if (i % 3)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
        sum += value;
    }
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void threads_same(void)
{
    pthread_t others[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&others[i], NULL, same_messages, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(others[i], NULL);
    if (rank && total != THREADS * (MESSAGES * (MESSAGES - 1) / 2))
        abort();
    MPI_Barrier(world);
    chain();
}

/* What has no clock does no harm. */
static void without_clock(void)
{
    int memory[2] = {0}, value = rank;
    MPI_Win window;
    MPI_Comm self;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Irecv(&memory[0], 1, MPI_INT, 0, 0, self, &requests[0]);
    MPI_Send(&value, 1, MPI_INT, 0, 0, self);
    wait_for(&requests[0]);
    MPI_Comm_free(&self);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, world, &window);
    MPI_Win_lock(MPI_LOCK_SHARED, !rank, 0, window);
    MPI_Put(&value, 1, MPI_INT, !rank, 1, 1, MPI_INT, window);
    MPI_Win_unlock(!rank, window);
    MPI_Win_free(&window);
#if MPI_VERSION >= 4
    MPI_Psend_init(&value, 1, 1, MPI_INT, !rank, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&memory[0], 1, 1, MPI_INT, !rank, 0, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
    chain();
}

/* As `shift`. */
static void exchange(void)
{
    for (int i = 0; i < 2 * size; i++) {
        int out = i, in;
        work_of(i % size, 1);
#if MPI_VERSION >= 4
        MPI_Request request;
        MPI_Isendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                      i % 2 ? (rank + size - 1) % size : MPI_ANY_SOURCE, 0, world, &request);
        wait_for(&request);
#else
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                     (rank + size - 1) % size, 0, world, MPI_STATUS_IGNORE);
#endif
    }
}

/* A communicator is freed while messages are under way. */
static void freed_comm(void)
{
    MPI_Comm copy;
    int in = 0;
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        MPI_Comm_dup(world, &copy);
        work_of(i % size, 1);
        if (i % size == rank)
            MPI_Isend(&in, 1, MPI_INT, (rank + 1) % size, 0, copy, &request);
        if ((i + 1) % size == rank)
            MPI_Irecv(&in, 1, MPI_INT, i % 4 < 2 ? MPI_ANY_SOURCE : i % size, 0, copy, &request);
        MPI_Comm_free(&copy);
        wait_for(&request);
    }
}

/* Each is entered together: 6 and 2 * 3 units with two ranks; `all` is not closed. */
static void regions(void)
{
    MPI_Pcontrol(1, "all");
    work_of(0, 1);
    MPI_Barrier(world);
    MPI_Pcontrol(1, "chain");
    chain();
    MPI_Pcontrol(-1, "chain");
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(world);
        MPI_Pcontrol(1, "alternate");
        work_of(0, 1);
        MPI_Barrier(world);
        work_of(1, 2);
        MPI_Barrier(world);
        MPI_Pcontrol(-1, "alternate");
    }
}

static void switched(void)
{
    chain();
    MPI_Barrier(world);
    MPI_Pcontrol(0);
    chain();
    MPI_Barrier(world);
    MPI_Pcontrol(1);
    chain();
}

#define CASE(NAME)                                                                                 \
    {                                                                                              \
#NAME, NAME                                                                                \
    }
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(chain),
    CASE(chain_ssend),
    CASE(chain_isend),
    CASE(chain_issend),
    CASE(chain_bsend),
    CASE(chain_freed),
    CASE(chain_persistent),
    CASE(pipeline),
    CASE(workers),
    CASE(halo),
    CASE(halo_persistent),
    CASE(shift),
    CASE(out_of_order),
    CASE(any_before),
    CASE(any_after),
    CASE(any_tag),
    CASE(tags),
    CASE(polled),
    CASE(cancelled),
    CASE(abandoned),
    CASE(failing),
    CASE(probed),
    CASE(alternate),
    CASE(rooted),
    CASE(against_root),
    CASE(scans),
    CASE(nonblocking),
    CASE(persistent_collective),
    CASE(communicators),
    CASE(intercommunicator),
    CASE(neighbors),
    CASE(windows),
    CASE(threads),
    CASE(threads_same),
    CASE(regions),
    CASE(without_clock),
    CASE(exchange),
    CASE(freed_comm),
    CASE(switched),
};

int main(int argc, char **argv)
{
    int provided;
    const char *name = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv,
                    strncmp(name, "threads", 7) ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Barrier(world);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strcmp(cases[i].name, name))
            cases[i].run();
    }
    printf("excess %.9f\n", excess);
    MPI_Finalize();
    return 0;
}
