/* SPDX-License-Identifier: MIT */
/*
 * Runs four threads that call MPI. With `count N`, each thread calls MPI_Comm_rank and MPI_Iprobe N
 * times, at the level MPI_THREAD_MULTIPLE. With `race`, all threads make the first MPI call of the
 * process, MPI_Initialized, at the same time. With `end N`, some threads make their calls while
 * they end, in a destructor of thread-specific data, and others at the same time.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

static int rounds;
static pthread_barrier_t all_ready, all_ended;

static void *count(void *unused)
{
    int number;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &number);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &number, MPI_STATUS_IGNORE);
    }
    return unused;
}

static void *race(void *unused)
{
    int flag = -1;
    pthread_barrier_wait(&all_ready);
    const int result = MPI_Initialized(&flag);
    if (result != MPI_SUCCESS || flag != 0)
        printf("MPI_Initialized: result %d, flag %d\n", result, flag);
    return unused;
}

static pthread_key_t at_end;

static void count_at_end(void *unused)
{
    pthread_barrier_wait(&all_ended);
    pthread_barrier_wait(&all_ready);
    count(unused);
}

static void *end(void *unused)
{
    int flag;
    MPI_Initialized(&flag);
    pthread_setspecific(at_end, &at_end);
    return unused;
}

static void *start(void *unused)
{
    pthread_barrier_wait(&all_ready);
    return count(unused);
}

static void run_ends(void)
{
    pthread_t ending[THREADS / 2], starting[THREADS / 2];
    pthread_key_create(&at_end, count_at_end);
    pthread_barrier_init(&all_ended, NULL, THREADS / 2 + 1);
    for (int i = 0; i < THREADS / 2; i++)
        pthread_create(&ending[i], NULL, end, NULL);
    pthread_barrier_wait(&all_ended);
    for (int i = 0; i < THREADS / 2; i++)
        pthread_create(&starting[i], NULL, start, NULL);
    for (int i = 0; i < THREADS / 2; i++) {
        pthread_join(ending[i], NULL);
        pthread_join(starting[i], NULL);
    }
}

static void run(void *(*function)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, function, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_barrier_init(&all_ready, NULL, THREADS);
    if (argc > 1 && !strcmp(argv[1], "race"))
        run(race);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        puts("no MPI_THREAD_MULTIPLE");
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    if (argc > 2 && !strcmp(argv[1], "count")) {
        rounds = atoi(argv[2]);
        run(count);
    }
    if (argc > 2 && !strcmp(argv[1], "end")) {
        rounds = atoi(argv[2]);
        run_ends();
    }
    MPI_Finalize();
    puts("done");
    return 0;
}
