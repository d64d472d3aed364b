/* SPDX-License-Identifier: MIT */
/*
 * Programs with one problem each, or without a problem: planted CASE. Most cases run a function
 * ROUNDS times. The rank, the size and the place of the problem are known, and a comment with the
 * name of the case marks the place. In some cases, the size depends on how long calls take. Then
 * the ranks that lose time measure it and print "lost RANK SECONDS", or tests prolong the calls by
 * the tool delay.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 10, LARGE = 1 << 20 };

static int rank, size;
static double lost;                   /* seconds that this rank has lost, see TIMED */
static char *buffer;                  /* of 4 * LARGE bytes */
static MPI_Win window = MPI_WIN_NULL; /* contains the first LARGE bytes of `buffer` */
static MPI_File file = MPI_FILE_NULL;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Sleeps instead of computing, so that the time does not depend on the load of the machine. */
static void work(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

/* Adds the time of a call to the lost time. */
#define TIMED(CALL)                                                                                \
    do {                                                                                           \
        const double begin = now();                                                                \
        CALL;                                                                                      \
        lost += now() - begin;                                                                     \
    } while (0)

static void send(int to, int count)
{
    MPI_Send(buffer, count, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

/* ---- Late senders ---------------------------------------------------------------------------- */

static void sender_recv(void)
{
    if (rank == 0) {
        work(.03);
        send(1, 8);
    } else if (rank == 1) {
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* sender_recv */
    }
}

static void sender_any(void)
{
    if (rank == 1) {
        work(.03);
        send(0, 8);
    } else if (rank == 0) {
        MPI_Recv(buffer, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, /* sender_any */
                 MPI_STATUS_IGNORE);
    }
}

/* The message comes from another rank each time. */
static void sender_moves(void)
{
    static int round;
    const int from = 1 + round++ % (size - 1);
    if (rank == from) {
        work(.03);
        send(0, 8);
    } else if (rank == 0) {
        MPI_Recv(buffer, 8, MPI_BYTE, from, 0, MPI_COMM_WORLD, /* sender_moves */
                 MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sender_wait(void)
{
    MPI_Request request;
    if (rank == 0) {
        work(.03);
        send(1, 1000);
    } else if (rank == 1) {
        MPI_Irecv(buffer, 1000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* sender_wait */
    }
}

/* Neighbors exchange messages, and rank 1 works longer. */
static void sender_waitall(void)
{
    MPI_Request requests[4];
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    work(rank == 1 ? .04 : .01);
    MPI_Irecv(buffer, 8, MPI_BYTE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer + 8, 8, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(buffer + 16, 8, MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(buffer + 24, 8, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* sender_waitall */
}

/* Rank 0 completes many receives from each of two ranks at once. */
static void sender_many(void)
{
    enum { EACH = 20 };
    MPI_Request requests[2 * EACH];
    if (rank)
        work(.01);
    for (int i = 0; rank && i < EACH; i++)
        send(0, 8);
    for (int i = 0; !rank && i < 2 * EACH; i++)
        MPI_Irecv(buffer + 8 * i, 8, MPI_BYTE, 1 + i / EACH, 0, MPI_COMM_WORLD, &requests[i]);
    if (!rank)
        MPI_Waitall(2 * EACH, requests, MPI_STATUSES_IGNORE); /* sender_many */
}

static void sender_probe(void)
{
    MPI_Status status;
    if (rank == 0) {
        work(.03);
        send(1, 8);
    } else if (rank == 1) {
        MPI_Probe(0, 0, MPI_COMM_WORLD, &status); /* sender_probe */
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void sender_exchange(void)
{
    if (rank == 1)
        work(.03);
    MPI_Sendrecv_replace(buffer, 8, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, /* sender_exchange */
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- The start of the run -------------------------------------------------------------------- */

/* The work of all ranks in each round. In the first round, a single rank works before it. */
static void all_work(void)
{
    double mine = rank, sum;
    work(.06);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static bool is_first(void)
{
    static int rounds;
    return rounds++ == 0;
}

static void startup_bcast(void)
{
    if (is_first()) {
        if (rank == 0)
            work(.3);
        MPI_Bcast(buffer, 1000, MPI_BYTE, 0, MPI_COMM_WORLD); /* startup_bcast */
    }
    all_work();
}

static void startup_recv(void)
{
    const bool first = is_first();
    if (first && rank == 1) {
        work(.3);
        for (int to = 0; to < size; to++) {
            if (to != 1)
                send(to, 1000);
        }
    } else if (first) {
        MPI_Recv(buffer, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, /* startup_recv */
                 MPI_STATUS_IGNORE);
    }
    all_work();
}

/* Rank 0 prepares the data of each rank in turn. The ranks that get their data early also wait for
 * the last rank. */
static void startup_parts(void)
{
    const bool first = is_first();
    if (first && rank == 0) {
        for (int to = 1; to < size; to++) {
            work(.2);
            send(to, 1000);
        }
    } else if (first) {
        MPI_Recv(buffer, 1000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, /* startup_parts */
                 MPI_STATUS_IGNORE);
    }
    if (first)
        MPI_Barrier(MPI_COMM_WORLD);
    all_work();
}

/* The wait in each call is too short to be distinguished from the call's own work. */
static void sender_often(void)
{
    for (int i = 0; i < 5000; i++) {
        const double end = now() + 6e-6;
        while (rank == 0 && now() < end)
            continue;
        if (rank == 0)
            send(1, 8);
        else if (rank == 1)
            TIMED(MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, /* sender_often */
                           MPI_STATUS_IGNORE));
    }
}

/* ---- Late receivers -------------------------------------------------------------------------- */

static void receiver_ssend(void)
{
    if (rank == 0) {
        MPI_Ssend(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD); /* receiver_ssend */
    } else if (rank == 1) {
        work(.03);
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receiver_large(void)
{
    if (rank == 1) {
        MPI_Send(buffer, LARGE / 2, MPI_BYTE, 0, 0, MPI_COMM_WORLD); /* receiver_large */
    } else if (rank == 0) {
        work(.03);
        MPI_Recv(buffer, LARGE / 2, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receiver_isend(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(buffer, LARGE / 2, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* receiver_isend */
    } else if (rank == 1) {
        work(.03);
        MPI_Recv(buffer, LARGE / 2, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receiver_persistent(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Ssend_init(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); /* receiver_persistent */
        MPI_Request_free(&request);
    } else if (rank == 1) {
        work(.03);
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* ---- Collectives ----------------------------------------------------------------------------- */

static void last_allreduce(void)
{
    int mine = rank, sum;
    work(rank == size - 1 ? .04 : .01);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* last_allreduce */
}

static void last_bcast(void)
{
    if (rank == 0)
        work(.03);
    MPI_Bcast(buffer, 8, MPI_BYTE, 0, MPI_COMM_WORLD); /* last_bcast */
}

/* Only the root waits. */
static void last_reduce(void)
{
    int mine = rank, sum;
    work(rank == 1 ? .04 : .01);
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* last_reduce */
}

static void last_alltoall(void)
{
    if (rank == 1)
        work(.03);
    MPI_Alltoall(buffer, 100, MPI_BYTE, buffer + 1000, 100, /* last_alltoall */
                 MPI_BYTE, MPI_COMM_WORLD);
}

static void last_barrier(void)
{
    if (rank == 0)
        work(.03);
    MPI_Barrier(MPI_COMM_WORLD); /* last_barrier */
}

/* Each branch has a barrier at a different place. */
static void last_branches(void)
{
    if (rank == 0) {
        work(.03);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD); /* last_branches */
    }
}

static void last_turns(void)
{
    static int round;
    int mine = rank, sum;
    if (round++ % 2 == rank)
        work(.03);
    TIMED(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)); /* last_turns */
}

/* A different rank is slow in each round; with 4 ranks, some are slow more often than others. */
static void last_moves(void)
{
    static int round;
    int mine = rank, sum;
    if (round++ % size == rank)
        work(.03);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* last_moves */
}

/* In MPI_Reduce, only the root waits, each time for another rank. */
static void last_reduces(void)
{
    static int round;
    int mine = rank, sum;
    if (1 + round++ % (size - 1) == rank)
        work(.03);
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* last_reduces */
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* All ranks are slow equally often. */
static void last_equal(void)
{
    static int round;
    int mine = rank, sum;
    for (int i = 0; i < size; i++) {
        if (round++ % size == rank)
            work(.01);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* last_equal */
    }
}

static void busy_allreduce(void)
{
    int mine = rank, sum;
    for (int i = 0; i < 20000; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* busy_allreduce */
}

static void busy_barrier(void)
{
    for (int i = 0; i < 20000; i++)
        MPI_Barrier(MPI_COMM_WORLD); /* busy_barrier */
}

/* A user-defined operation that takes a millisecond. */
static void add_slowly(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += ((int *)from)[i];
    work(.001);
}

static void reduce_twice(bool is_reduce)
{
    MPI_Op op;
    int mine = rank, sum;
    MPI_Op_create(add_slowly, 1, &op);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Reduce_scatter_block(buffer, buffer + 100, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (is_reduce)
            MPI_Reduce_scatter_block(buffer, buffer + 100, 1, MPI_INT, op, /* slow_scatter */
                                     MPI_COMM_WORLD);
        else
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD); /* slow_allreduce */
    }
    MPI_Op_free(&op);
}

static void slow_allreduce(void)
{
    reduce_twice(false);
}

static void slow_scatter(void)
{
    reduce_twice(true);
}

/* In each round, rank 1 works longer than the other ranks. After three rounds, it switches
 * profiling off. */
static void last_off(void)
{
    static int round;
    work(rank == 1 ? .04 : .01);
    MPI_Barrier(MPI_COMM_WORLD); /* last_off */
    if (rank == 1 && round++ == 2)
        MPI_Pcontrol(0);
}

static void last_fence(void)
{
    if (window == MPI_WIN_NULL)
        MPI_Win_create(buffer, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 1)
        work(.03);
    MPI_Win_fence(0, window); /* last_fence */
}

/* ---- One-sided ------------------------------------------------------------------------------- */

/* All ranks except `target` access the window of `target`; the rank `slow` works first. */
static void access_window(int target, int slow)
{
    MPI_Group world, group;
    if (window == MPI_WIN_NULL)
        MPI_Win_create(buffer, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (rank == target)
        MPI_Group_excl(world, 1, &target, &group);
    else
        MPI_Group_incl(world, 1, &target, &group);
    if (rank == slow)
        work(.03);
    if (rank == target) {
        MPI_Win_post(group, 0, window);
        MPI_Win_wait(window); /* access_wait */
    } else {
        MPI_Win_start(group, 0, window);
        MPI_Put(buffer + LARGE, 1000, MPI_BYTE, target, 0, 1000, MPI_BYTE, window);
        MPI_Win_complete(window); /* access_complete */
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void access_wait(void)
{
    access_window(0, size - 1);
}

static void access_complete(void)
{
    access_window(0, 0);
}

/* ---- How MPI is used ------------------------------------------------------------------------- */

static void small_messages(void)
{
    for (int i = 0; i < 2000; i++) {
        if (rank == 0)
            TIMED(MPI_Send(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD)); /* small_messages */
        else if (rank == 1)
            MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void open_file(void)
{
    MPI_File_open(MPI_COMM_SELF, rank ? "planted.1" : "planted.0", MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
}

static void small_accesses(void)
{
    open_file();
    for (int i = 0; i < 500; i++)
        TIMED(MPI_File_write(file, buffer, 16, MPI_BYTE, MPI_STATUS_IGNORE)); /* small_accesses */
    MPI_File_close(&file);
}

static void write_block(void)
{
    MPI_File_write(file, buffer, 4 * LARGE, MPI_BYTE, MPI_STATUS_IGNORE); /* serial_io */
}

static void serial_io(void)
{
    if (rank == 1) {
        open_file();
        for (int i = 0; i < 4; i++)
            TIMED(write_block());
        MPI_File_close(&file);
    }
}

static void serial_sends(void)
{
    for (int i = 0; i < 20; i++) {
        for (int to = 1; rank == 0 && to < size; to++)
            MPI_Send(buffer, LARGE, MPI_BYTE, to, 0, MPI_COMM_WORLD); /* serial_sends */
        if (rank)
            MPI_Recv(buffer, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* One rank writes, and the others wait for it. */
static void io_barrier(void)
{
    if (file == MPI_FILE_NULL && rank == 0)
        open_file();
    work(.005);
    if (rank == 0)
        TIMED(MPI_File_write(file, buffer, 16, MPI_BYTE, MPI_STATUS_IGNORE)); /* io_barrier */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void io_recv(void)
{
    if (file == MPI_FILE_NULL && rank == 1)
        open_file();
    work(.005);
    if (rank == 1) {
        TIMED(MPI_File_write(file, buffer, 16, MPI_BYTE, MPI_STATUS_IGNORE)); /* io_recv */
        send(0, 8);
    } else if (rank == 0) {
        MPI_Recv(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* All ranks compute equally long, and then write their parts. */
static void healthy_io(void)
{
    if (file == MPI_FILE_NULL)
        open_file();
    work(.03);
    MPI_File_write(file, buffer, 16, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 is late because it spends time in another call, which the tool delay prolongs. */
static void late_elsewhere(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length, mine = rank, sum;
    if (rank == 0)
        MPI_Get_processor_name(name, &length);                       /* late_elsewhere_call */
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* late_elsewhere */
}

/* ---- A rank that serves all others ----------------------------------------------------------- */

/* Ranks report to rank 0, which works on each report and then tells each rank how to continue. */
static void master_serves(void)
{
    for (int from = 1; rank == 0 && from < size; from++) {
        work(.01);
        MPI_Recv(buffer, 8, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank)
        MPI_Ssend(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    for (int to = 1; rank == 0 && to < size; to++) {
        work(.02);
        send(to, 8);
    }
    if (rank)
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, /* master_serves */
                 MPI_STATUS_IGNORE);
}

/* Ranks get two kinds of data from rank 1, and wait while rank 1 computes each kind. */
static void master_makes(void)
{
    static const double times[] = {.01, .02};
    for (int kind = 0; kind < 2; kind++) {
        if (rank == 1)
            work(times[kind]);
        for (int to = 0; rank == 1 && to < size; to++) {
            if (to != 1)
                MPI_Send(buffer, 8, MPI_BYTE, to, kind, MPI_COMM_WORLD);
        }
        if (rank != 1 && kind == 0)
            MPI_Recv(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 1 && kind == 1)
            MPI_Recv(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, /* master_makes */
                     MPI_STATUS_IGNORE);
    }
}

/* Rank 0 has no other work, and answers immediately. */
static void healthy_master(void)
{
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Status status;
        MPI_Recv(buffer, 8, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        send(status.MPI_SOURCE, 8);
    }
    if (rank) {
        work(.03);
        send(0, 8);
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* ---- Polling --------------------------------------------------------------------------------- */

static void polling_probe(void)
{
    int found = 0;
    if (rank == 0) {
        work(.03);
        send(1, 8);
        return;
    }
    while (!found)
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* polling_probe */
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void polling_test(void)
{
    MPI_Request request;
    int done = 0;
    if (rank == 1) {
        work(.03);
        send(0, 8);
        return;
    }
    MPI_Irecv(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* polling_test */
}

/* Rank 0 sleeps between two calls. */
static void polling_pauses(void)
{
    MPI_Request request;
    int done = 0;
    if (rank == 1) {
        work(.03);
        send(0, 8);
    } else if (rank == 0) {
        MPI_Irecv(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* polling_pauses */
            if (!done)
                work(50e-6);
        }
    }
}

/* Rank 0 polls in several ways each time before it sleeps. */
static void polling_ways(void)
{
    MPI_Request requests[2];
    int found = 0, done = 0, indices[2];
    if (rank == 1) {
        work(.03);
        send(0, 8);
    } else if (rank == 0) {
        MPI_Irecv(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]);
        while (!done) {
            MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE); /* polling_ways */
            MPI_Iprobe(1, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            if (!done)
                work(50e-6);
        }
        MPI_Cancel(&requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
}

static void polling_naps(void)
{
    int found = 0;
    if (rank == 0) {
        work(.03);
        send(1, 8);
    } else if (rank == 1) {
        while (!found) {
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* polling_naps */
            if (!found)
                work(50e-6);
        }
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* ---- Other calls, and objects ---------------------------------------------------------------- */

static void self_exchange(void)
{
    work(.002);
    MPI_Sendrecv(buffer, 8, MPI_BYTE, 0, 0, buffer + 8, 8, MPI_BYTE, 0, 0, /* self_exchange */
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* A call that no rule covers takes most of the time, because the tool delay prolongs it. */
static void unexplained(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    work(.01);
    MPI_Get_processor_name(name, &length); /* unexplained */
}

static void objects_types(void)
{
    for (int i = 0; i < 2000; i++) {
        MPI_Datatype type;
        TIMED(MPI_Type_vector(100, 3, 7, MPI_INT, &type));
        TIMED(MPI_Type_commit(&type)); /* objects_types */
        TIMED(MPI_Type_free(&type));
    }
}

static void objects_comms(void)
{
    for (int i = 0; i < 100; i++) {
        MPI_Comm comm;
        TIMED(MPI_Comm_dup(MPI_COMM_SELF, &comm)); /* objects_comms */
        TIMED(MPI_Comm_free(&comm));
    }
}

/* A loop creates a datatype in each iteration, and creates and frees another one in every second
 * iteration. */
static void leak_types(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Datatype type, other;
        MPI_Type_vector(100, 3, 7, MPI_INT, &type); /* leak_types */
        if (i % 2) {
            MPI_Type_contiguous(3, MPI_INT, &other);
            MPI_Type_free(&other);
        }
    }
    work(.03);
}

static void leak_comms(void)
{
    MPI_Comm comm, other;
    work(.03);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, 0, &other);
    if (other != MPI_COMM_NULL)
        MPI_Comm_free(&other);
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* leak_comms */
}

static void leak_requests(void)
{
    work(.03);
    for (int i = 0; i < 5; i++) {
        MPI_Request request;
        MPI_Recv_init(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request); /* leak_requests */
    }
}

static void leak_files(void)
{
    MPI_File opened;
    work(.03);
    MPI_File_open(MPI_COMM_SELF, rank ? "planted.1" : "planted.0", /* leak_files */
                  MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &opened);
}

/* ---- Programs without a problem -------------------------------------------------------------- */

static void healthy_compute(void)
{
    work(.03);
}

static void healthy_halo(void)
{
    MPI_Request requests[4];
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(buffer, 10000, MPI_BYTE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer + 10000, 10000, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(buffer + 20000, 10000, MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(buffer + 30000, 10000, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[3]);
    work(.03);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void healthy_allreduce(void)
{
    double mine = rank, sum;
    work(.03);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* healthy_allreduce */
}

static void healthy_stream(void)
{
    work(.03);
    for (int i = 0; i < 10; i++) {
        if (rank == 0)
            send(1, LARGE);
        else if (rank == 1)
            MPI_Recv(buffer, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void healthy_alltoall(void)
{
    work(.03);
    for (int i = 0; i < 5; i++)
        MPI_Alltoall(buffer, LARGE / 2, MPI_BYTE, buffer + 2 * LARGE, LARGE / 2, MPI_BYTE,
                     MPI_COMM_WORLD);
}

static void healthy_write(void)
{
    if (file == MPI_FILE_NULL)
        MPI_File_open(MPI_COMM_WORLD, "planted.all", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                      MPI_INFO_NULL, &file);
    work(.08); /* long enough that writing to a busy disk is a small part */
    MPI_File_write_at_all(file, rank * (MPI_Offset)LARGE, buffer, LARGE, MPI_BYTE,
                          MPI_STATUS_IGNORE);
}

static void healthy_put(void)
{
    if (window == MPI_WIN_NULL)
        MPI_Win_create(buffer, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    work(.03);
    MPI_Win_fence(0, window);
    MPI_Put(buffer + LARGE, 1000, MPI_BYTE, (rank + 1) % size, 0, 1000, MPI_BYTE, window);
    MPI_Win_fence(0, window);
}

static void healthy_types(void)
{
    MPI_Datatype type;
    MPI_Type_vector(100, 3, 7, MPI_INT, &type);
    MPI_Type_commit(&type);
    work(.03);
    MPI_Type_free(&type);
}

static void healthy_test(void)
{
    MPI_Request request;
    int done;
    MPI_Irecv(buffer, 1000, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 30; i++) {
        work(.001);
        if (i == 10)
            send(1 - rank, 1000);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void compute(int steps)
{
    volatile double sum = 0;
    for (int i = 0; i < steps; i++)
        sum = sum + i;
}

/* Ranks that get no communicator have none to free. */
static void healthy_split(void)
{
    for (int i = 0; i < 5; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, rank == i % size ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
    work(.03);
}

/* Each rank computes between its calls of MPI_Test. The message for which it tests is sent late. */
static void healthy_progress(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Irecv(buffer, 1000, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 500; i++) {
        compute(20000);
        if (i == 450)
            send(1 - rank, 1000);
        if (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static pthread_barrier_t rounds;

static void *compute_in_thread(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&rounds);
        compute(20000000);
        pthread_barrier_wait(&rounds);
    }
    return unused;
}

/* Only a thread that makes no MPI calls computes, like the threads of OpenMP. */
static void thread_computes(void)
{
    static pthread_t thread;
    if (is_first()) {
        pthread_barrier_init(&rounds, NULL, 2);
        pthread_create(&thread, NULL, compute_in_thread, NULL);
    }
    pthread_barrier_wait(&rounds);
    pthread_barrier_wait(&rounds);
}

/* ---- Programs that hang ---------------------------------------------------------------------- */

/* No process sends. */
static void hang_wait(void)
{
    MPI_Request request;
    MPI_Irecv(buffer, 8, MPI_BYTE, (rank + 1) % size, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* hang_wait */
}

/* One rank never reaches the barrier. */
static void hang_barrier(void)
{
    if (rank == 1)
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* hang_recv */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* hang_barrier */
}

/* ---------------------------------------------------------------------------------------------- */

static void nothing(void)
{
}

static const struct {
    const char *name;
    void (*round)(void);
} cases[] = {
    {"sender_recv", sender_recv},
    {"sender_any", sender_any},
    {"sender_moves", sender_moves},
    {"sender_wait", sender_wait},
    {"sender_waitall", sender_waitall},
    {"sender_many", sender_many},
    {"sender_probe", sender_probe},
    {"sender_exchange", sender_exchange},
    {"sender_often", sender_often},
    {"startup_bcast", startup_bcast},
    {"startup_recv", startup_recv},
    {"startup_parts", startup_parts},
    {"receiver_ssend", receiver_ssend},
    {"receiver_large", receiver_large},
    {"receiver_isend", receiver_isend},
    {"receiver_persistent", receiver_persistent},
    {"last_allreduce", last_allreduce},
    {"last_bcast", last_bcast},
    {"last_reduce", last_reduce},
    {"last_alltoall", last_alltoall},
    {"last_barrier", last_barrier},
    {"last_branches", last_branches},
    {"last_turns", last_turns},
    {"last_moves", last_moves},
    {"last_equal", last_equal},
    {"last_reduces", last_reduces},
    {"last_fence", last_fence},
    {"busy_allreduce", busy_allreduce},
    {"busy_barrier", busy_barrier},
    {"last_off", last_off},
    {"slow_allreduce", slow_allreduce},
    {"slow_scatter", slow_scatter},
    {"thread_computes", thread_computes},
    {"access_wait", access_wait},
    {"access_complete", access_complete},
    {"small_messages", small_messages},
    {"small_accesses", small_accesses},
    {"serial_io", serial_io},
    {"serial_sends", serial_sends},
    {"io_barrier", io_barrier},
    {"io_recv", io_recv},
    {"late_elsewhere", late_elsewhere},
    {"master_serves", master_serves},
    {"master_makes", master_makes},
    {"polling_probe", polling_probe},
    {"polling_test", polling_test},
    {"polling_pauses", polling_pauses},
    {"polling_naps", polling_naps},
    {"polling_ways", polling_ways},
    {"self_exchange", self_exchange},
    {"unexplained", unexplained},
    {"objects_types", objects_types},
    {"objects_comms", objects_comms},
    {"leak_types", leak_types},
    {"leak_comms", leak_comms},
    {"leak_requests", leak_requests},
    {"leak_files", leak_files},
    {"startup", nothing},
    {"shutdown", nothing},
    {"early_end", nothing},
    {"slow_node", nothing},
    {"healthy_compute", healthy_compute},
    {"healthy_halo", healthy_halo},
    {"healthy_allreduce", healthy_allreduce},
    {"healthy_stream", healthy_stream},
    {"healthy_alltoall", healthy_alltoall},
    {"healthy_write", healthy_write},
    {"healthy_put", healthy_put},
    {"healthy_types", healthy_types},
    {"healthy_test", healthy_test},
    {"healthy_progress", healthy_progress},
    {"healthy_io", healthy_io},
    {"healthy_split", healthy_split},
    {"healthy_master", healthy_master},
    {"hang_wait", hang_wait},
    {"hang_barrier", hang_barrier},
};

static void run(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int round = 0; !strcmp(cases[i].name, name) && round < ROUNDS; round++)
            cases[i].round();
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    buffer = calloc(4, LARGE);
    MPI_Init(&argc, &argv); /* startup */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    run(name);
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
    if (!strcmp(name, "slow_node"))
        work(rank >= size / 2 ? .4 : .2);
    if (!strcmp(name, "early_end"))
        work(rank == 1 ? .6 : .01);
    if (!strcmp(name, "shutdown"))
        work(rank == 1 ? 1.6 : .2);
    if (lost > 0)
        printf("lost %d %.6f\n", rank, lost);
    if (getenv("PLANTED_EXIT"))
        exit(0);
    MPI_Finalize(); /* shutdown */
    free(buffer);
    return 0;
}
