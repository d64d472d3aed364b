/* SPDX-License-Identifier: MIT */
/*
 * Uses MPI_T without MPI_Init, in two threads and in main. The library watcher.c keeps MPI_T
 * initialized from its constructor to its destructor: MPICH 4.0.2 would crash if MPI_T were
 * initialized again after it was completely finalized. The threads take turns, because MPICH 4.0.2
 * also crashes if two threads initialize MPI_T at the same time.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *use(void *data)
{
    int provided, count = 0;
    pthread_mutex_lock(&turn);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_cvar_get_num(&count);
    MPI_T_finalize();
    pthread_mutex_unlock(&turn);
    if (count == 0)
        fprintf(stderr, "no control variables\n");
    return data;
}

void watcher_link(void);

int main(void)
{
    watcher_link();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    use(NULL);
    return 0;
}
