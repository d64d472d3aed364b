/* SPDX-License-Identifier: MIT */
/*
 * An application that switches layers while it runs. Its arguments are steps. Before each step, it
 * prints `trace: app STEP` on stderr.
 *   init, finalize        initialize MPI for several threads, and finalize it
 *   single                initializes MPI for one thread, as `left` requires: with several, MPICH 5
 *                         holds a lock while it calls an error handler
 *   rank, barrier, size   call MPI_Comm_rank, ... from exported functions
 *   level=N               calls MPI_Pcontrol(N)
 *   left                  MPI_Comm_size fails, and the error handler leaves the call by longjmp
 *   off=N, on=N           switch layer N
 *   race=N                makes N switches of randomly chosen layers above the lowest, while two
 *                         threads call MPI_Comm_rank; prints how many calls the threads made
 *   both=N                two threads at the same time make N and N + 1 switches of the layers
 *                         above the lowest
 *   count=N               makes a call of MPI_Comm_size, and then N more whose instructions
 *                         tests/count_steps.c counts
 *   repeat=N              makes N switches of randomly chosen layers; prints by how many KiB the
 *                         memory grew after the first tenth of them
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <qmpi/qmpi.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2 };

static atomic_bool stop;
static int failures;

/* The addition prevents a tail call, because the function itself must be the caller. */
#define CALLER(name, call)                                                                         \
    __attribute__((noinline, visibility("default"))) int name(void);                               \
    int name(void)                                                                                 \
    {                                                                                              \
        int number = 0;                                                                            \
        const int result = call;                                                                   \
        __asm__ volatile("" ::: "memory");                                                         \
        return result + number;                                                                    \
    }

CALLER(caller_of_rank, MPI_Comm_rank(MPI_COMM_WORLD, &number))
CALLER(caller_of_barrier, MPI_Barrier(MPI_COMM_WORLD))
CALLER(caller_of_size, MPI_Comm_size(MPI_COMM_WORLD, &number))

static jmp_buf before_the_call;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(before_the_call, 1);
}

static void make_a_call_that_is_left(void)
{
    MPI_Errhandler handler;
    int size;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (!setjmp(before_the_call))
        MPI_Comm_size(MPI_COMM_NULL, &size);
}

static void switch_layer(int tool_id, int enabled)
{
    int now = -1;
    const int result = QMPIX_Tool_set_enabled(tool_id, enabled);
    QMPIX_Tool_get_enabled(tool_id, &now);
    if (result != MPI_SUCCESS || now != enabled) {
        printf("layer %d to %d: result %d, now %d\n", tool_id, enabled, result, now);
        failures++;
    }
}

/* Returns the next number of a sequence that is the same in each run. */
static unsigned next_number(void)
{
    static unsigned state = 1;
    state = state * 1664525U + 1013904223U;
    return state >> 8;
}

static void switch_any(int layers)
{
    const int tool_id = 1 + (int)(next_number() % (unsigned)layers);
    int enabled = 0;
    QMPIX_Tool_get_enabled(tool_id, &enabled);
    if (QMPIX_Tool_set_enabled(tool_id, !enabled) != MPI_SUCCESS)
        failures++;
}

static void *call_on(void *counter)
{
    atomic_long *calls = counter;
    int rank;
    for (; !stop; ++*calls) {
        rank = -1;
        if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0)
            abort();
    }
    return NULL;
}

/* Waits until each thread has made another call, so that calls and switches alternate, however the
 * threads are scheduled. */
static void wait_for_calls(atomic_long *calls)
{
    for (int i = 0; i < THREADS; i++) {
        const long before = calls[i];
        while (calls[i] == before)
            sched_yield();
    }
}

static void race(int switches)
{
    pthread_t threads[THREADS];
    static atomic_long calls[THREADS];
    long sum = 0;
    int layers = 0;
    QMPIX_Tool_count(&layers);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_on, &calls[i]);
    for (int i = 0; i < switches; i++) {
        switch_any(layers - 1);
        if (i % (switches / 100 + 1) == 0)
            wait_for_calls(calls);
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += calls[i];
    }
    printf("calls %ld\n", sum);
}

static void *switch_alternately(void *data)
{
    int layers = 0;
    QMPIX_Tool_count(&layers);
    for (int i = *(int *)data; i > 0; i--)
        QMPIX_Tool_set_enabled(1 + i % (layers - 1), i % 3 != 0);
    return NULL;
}

static void switch_in_both_threads(int switches)
{
    pthread_t thread;
    int others = switches + 1;
    pthread_create(&thread, NULL, switch_alternately, &others);
    switch_alternately(&switches);
    pthread_join(thread, NULL);
}

static void make_counted_calls(int calls)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    raise(SIGURG); /* tells count_steps.c to begin; a process ignores SIGURG by default */
    for (int i = 0; i < calls; i++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    raise(SIGURG);
}

static long rss_kilobytes(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
        abort();
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void repeat(int switches)
{
    int layers = 0;
    long before = 0;
    QMPIX_Tool_count(&layers);
    for (int i = 0; i < switches; i++) {
        if (i == switches / 10)
            before = rss_kilobytes();
        switch_any(layers);
    }
    printf("grown %ld\n", rss_kilobytes() - before);
}

static void run_step(const char *step)
{
    int provided = 0;
    if (!strcmp(step, "init"))
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    else if (!strcmp(step, "single"))
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
    else if (!strcmp(step, "rank"))
        caller_of_rank();
    else if (!strcmp(step, "barrier"))
        caller_of_barrier();
    else if (!strcmp(step, "size"))
        caller_of_size();
    else if (!strcmp(step, "left"))
        make_a_call_that_is_left();
    else if (!strcmp(step, "finalize"))
        MPI_Finalize();
    else if (!strncmp(step, "level=", 6))
        MPI_Pcontrol(atoi(step + 6));
    else if (!strncmp(step, "off=", 4))
        switch_layer(atoi(step + 4), 0);
    else if (!strncmp(step, "on=", 3))
        switch_layer(atoi(step + 3), 1);
    else if (!strncmp(step, "race=", 5))
        race(atoi(step + 5));
    else if (!strncmp(step, "both=", 5))
        switch_in_both_threads(atoi(step + 5));
    else if (!strncmp(step, "count=", 6))
        make_counted_calls(atoi(step + 6));
    else if (!strncmp(step, "repeat=", 7))
        repeat(atoi(step + 7));
    else
        exit(99);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        dprintf(2, "trace: app %s\n", argv[i]);
        run_step(argv[i]);
    }
    fflush(stdout);
    return failures ? 1 : 0;
}
