/* SPDX-License-Identifier: MIT */
/*
 * Programs that spend time outside MPI between known calls: outside CASE. Ranks sleep instead of
 * computing. Except in `healthy` and `left`, rank 1 spends more time than the others. The comments
 * `CASE from` and `CASE to` mark the calls between which it spends most of this additional time.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 10 };

static int rank, size;

static void work(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static void sum(void)
{
    int mine = rank, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* in_regions to */
}

/* All ranks work before the exchange, for longer than the late rank works within the exchange. */
static void within(void)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int mine = rank, its;
    MPI_Request requests[2];
    for (int round = 0; round < ROUNDS; round++) {
        work(.05);
        MPI_Irecv(&its, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]); /* within from */
        work(rank == 1 ? .03 : 0);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* within to */
        sum();
    }
}

/* The late rank works longer before each call, and longest before the second one. */
static void everywhere(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        work(rank == 1 ? .01 : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* everywhere from */
        work(rank == 1 ? .03 : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* everywhere to */
        work(rank == 1 ? .01 : 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Many calls precede the first barrier. Rank 1 is late only after the last of them, MPI_Wtick. */
static void from_many(void)
{
    double time;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 3; i++)
            sum();
        time = MPI_Wtime();
        sum();
        time += MPI_Wtick(); /* from_many from */
        work(rank == 1 ? .03 : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* from_many to */
        time += MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (time < 0)
        abort();
}

/* The time in both regions is listed together, because the calls are the same. */
static void in_regions(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Pcontrol(1, round % 2 ? "odd" : "even"); /* in_regions from */
        work(rank == 1 ? .03 : 0);
        sum();
        MPI_Pcontrol(-1, round % 2 ? "odd" : "even");
    }
}

/* The time while profiling is off does not count. */
static void switched(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Pcontrol(0); /* switched from */
        work(.05);
        MPI_Pcontrol(1);
        work(rank == 1 ? .03 : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* switched to */
        sum();
    }
}

static int visit(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    work(.03);
    MPI_Barrier(MPI_COMM_SELF);
    work(.03);
    return MPI_SUCCESS;
}

/* The work and the calls in a callback do not count as time outside MPI. */
static void nested(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, visit, &key, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
        MPI_Comm_delete_attr(MPI_COMM_SELF, key); /* nested from */
        work(rank == 1 ? .03 : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* nested to */
    }
    MPI_Comm_free_keyval(&key);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double start; /* when MPI_Init ended */

/* Rank 1 is late only in a part of the run. The program prints when this part begins and ends, in
 * seconds since the end of MPI_Init. */
static void phase(void)
{
    double begin = 0, end = 0;
    for (int round = 0; round < 4 * ROUNDS; round++) {
        const int is_late = round >= ROUNDS && round < 2 * ROUNDS;
        if (round == ROUNDS)
            begin = now() - start;
        MPI_Pcontrol(1, is_late ? "late" : "even"); /* phase from */
        work(is_late && rank == 1 ? .08 : .02);
        MPI_Barrier(MPI_COMM_WORLD); /* phase to */
        MPI_Pcontrol(-1, is_late ? "late" : "even");
        if (round == 2 * ROUNDS - 1)
            end = now() - start;
    }
    if (rank == 0)
        printf("phase %.3f %.3f\n", begin, end);
}

/* Only rank 1 makes a certain call and then works, as if it wrote output for all ranks. */
static void output(void)
{
    int ranks = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sum();
        if (rank == 1) {
            MPI_Comm_size(MPI_COMM_WORLD, &ranks); /* output from */
            work(.01 + .02 * (ranks > 0));
        }
        MPI_Barrier(MPI_COMM_WORLD); /* output to */
    }
}

/* All ranks do the same. */
static void healthy(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        work(.05);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void nothing(void)
{
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"within", within},         {"everywhere", everywhere}, {"from_many", from_many},
             {"in_regions", in_regions}, {"switched", switched},     {"nested", nested},
             {"healthy", healthy},       {"output", output},         {"phase", phase},
             {"first", nothing},         {"last", nothing},          {"left", nothing}};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    start = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* first from */
    work(rank == 1 && !strcmp(name, "first") ? 1.5 : 0);
    MPI_Barrier(MPI_COMM_WORLD); /* first to, last from */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strcmp(cases[i].name, name))
            cases[i].run();
    }
    work(rank == 1 && !strcmp(name, "last") ? 1.5 : 0);
    if (!strcmp(name, "left")) {
        work(.5);
        exit(0);
    }
    MPI_Finalize(); /* last to */
    return 0;
}
