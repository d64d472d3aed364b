/* SPDX-License-Identifier: MIT */
/*
 * Programs whose critical path is known by construction: path CASE. Ranks sleep instead of working,
 * so that they need no processor, in units of UNIT milliseconds. tests/tools/test_trace_path.py
 * contains the length of the critical path in units for each case. Each rank prints by how many
 * seconds it has slept too long because the machine was busy.
 */
#include "path.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int rank, size;
MPI_Comm world;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double excess; /* seconds that this rank has slept too long */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void work(int units)
{
    const long ms = (long)UNIT * units;
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    const double begin = now();
    nanosleep(&time, NULL);
    pthread_mutex_lock(&lock);
    excess += now() - begin - 1e-3 * (double)ms;
    pthread_mutex_unlock(&lock);
}

void work_of(int who, int units)
{
    if (rank == who)
        work(units);
}

void chain_on(MPI_Comm comm, sender *send)
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

int wait_for(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

#define ENTRY(NAME) {#NAME, NAME},
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {CASES(ENTRY)};

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
