/* SPDX-License-Identifier: MIT */
/* Collective steps on the thread's communicator, with known results. */
#include "program.h"

enum { RANKS = 8 };

static int sum_of_ranks(void)
{
    return storm_size * (storm_size - 1) / 2;
}

static void barrier(struct storm_thread *thread, const long *a)
{
    MPI_Request request;
    int flag = 0;
    if (a[0] % 3 == 0) {
        OK(Ibarrier, (thread->comm, &request));
        while (!flag)
            OK(Test, (&request, &flag, MPI_STATUS_IGNORE));
    } else {
        OK(Barrier, (thread->comm));
    }
}

static void bcast(struct storm_thread *thread, const long *a)
{
    const int root = (int)(a[0] % storm_size);
    int data[2] = {0};
    if (storm_rank == root)
        data[0] = data[1] = (int)a[1];
    OK(Bcast, (data, 2, MPI_INT, root, thread->comm));
    CHECK(data[0] == (int)a[1] && data[1] == (int)a[1]);
}

static void reduce(struct storm_thread *thread, const long *a)
{
    const int root = (int)(a[0] % storm_size);
    int mine = storm_rank + 1, all = 0;
    OK(Reduce, (&mine, &all, 1, MPI_INT, MPI_SUM, root, thread->comm));
    CHECK(storm_rank != root || all == sum_of_ranks() + storm_size);
}

static void allreduce(struct storm_thread *thread, const long *a)
{
    double mine = storm_rank + 0.5, all = 0;
    int number = storm_rank;
    MPI_Request request;
    switch (a[0] % 3) {
    case 0:
        OK(Allreduce, (&mine, &all, 1, MPI_DOUBLE, MPI_SUM, thread->comm));
        CHECK(all > sum_of_ranks() && all < sum_of_ranks() + storm_size);
        break;
    case 1:
        OK(Allreduce, (MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, thread->comm));
        CHECK(number == storm_size - 1);
        break;
    default:
        OK(Iallreduce, (MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, thread->comm, &request));
        OK(Wait, (&request, MPI_STATUS_IGNORE));
        CHECK(number == sum_of_ranks());
    }
}

static void scan(struct storm_thread *thread, const long *a)
{
    int mine = 2, all = 0;
    (void)a;
    OK(Scan, (&mine, &all, 1, MPI_INT, MPI_SUM, thread->comm));
    CHECK(all == 2 * (storm_rank + 1));
    all = -5;
    OK(Exscan, (&mine, &all, 1, MPI_INT, MPI_SUM, thread->comm));
    CHECK(storm_rank == 0 || all == 2 * storm_rank);
}

static void gather(struct storm_thread *thread, const long *a)
{
    int mine = storm_rank * 3 + (int)a[1] % 100, all[RANKS] = {0};
    if (a[0] % 2)
        OK(Allgather, (&mine, 1, MPI_INT, all, 1, MPI_INT, thread->comm));
    else
        OK(Gather, (&mine, 1, MPI_INT, all, 1, MPI_INT, 0, thread->comm));
    for (int i = 0; i < storm_size && (a[0] % 2 || storm_rank == 0); i++)
        CHECK(all[i] == i * 3 + (int)a[1] % 100);
}

static void scatter(struct storm_thread *thread, const long *a)
{
    int mine = -1, all[RANKS];
    for (int i = 0; i < RANKS; i++)
        all[i] = i + (int)a[0] % 100;
    OK(Scatter, (all, 1, MPI_INT, &mine, 1, MPI_INT, storm_size - 1, thread->comm));
    CHECK(mine == storm_rank + (int)a[0] % 100);
}

static void alltoall(struct storm_thread *thread, const long *a)
{
    int out[RANKS], in[RANKS] = {0}, counts[RANKS], places[RANKS];
    for (int i = 0; i < RANKS; i++) {
        out[i] = storm_rank * 10 + i;
        counts[i] = 1;
        places[i] = i;
    }
    if (a[0] % 2)
        OK(Alltoall, (out, 1, MPI_INT, in, 1, MPI_INT, thread->comm));
    else
        OK(Alltoallv, (out, counts, places, MPI_INT, in, counts, places, MPI_INT, thread->comm));
    for (int i = 0; i < storm_size; i++)
        CHECK(in[i] == i * 10 + storm_rank);
}

const struct storm_action storm_collective_actions[] = {
    {"barrier", barrier},     {"bcast", bcast},       {"reduce", reduce},
    {"allreduce", allreduce}, {"scan", scan},         {"gather", gather},
    {"scatter", scatter},     {"alltoall", alltoall}, {0}};
