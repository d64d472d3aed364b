/* SPDX-License-Identifier: MIT */
/*
 * Makes calls in one process, for tests of runs of adjacent observers (see test_runs.py): messages
 * whose statuses are ignored or not, a persistent request, and a matched probe. With an argument N,
 * eight threads call MPI_Comm_rank instead, while randomly chosen layers named `member`, except the
 * lowest, are switched N times by their control variables.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

static atomic_int stop;
static atomic_ullong calls;

static void make_messages(void)
{
    int sent = 1, received[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Message message;

    MPI_Isend(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Recv(received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(&sent, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(received, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Isend(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Isend(&sent, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]);
    MPI_Mprobe(0, 4, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Send_init(&sent, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
    MPI_Request_free(&requests[0]);
}

static void *call(void *unused)
{
    unsigned long long made = 0;
    (void)unused;
    while (!atomic_load(&stop)) {
        int rank = -1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank != 0)
            abort();
        made++;
    }
    atomic_fetch_add(&calls, made);
    return NULL;
}

static int find_switches(MPI_T_cvar_handle *handles, int most)
{
    int count = 0, found = 0, provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count && found < most; i++) {
        char name[256];
        int length = sizeof name, verbosity, binding, scope, values;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &enumeration, NULL, NULL,
                                &binding, &scope) != MPI_SUCCESS ||
            strncmp(name, "qmpi.member", 11) || !strstr(name, ".enabled"))
            continue;
        MPI_T_cvar_handle_alloc(i, NULL, &handles[found++], &values);
    }
    return found;
}

static void switch_layers(int times)
{
    MPI_T_cvar_handle handles[16];
    const int layers = find_switches(handles, 16);
    pthread_t threads[THREADS];
    unsigned random = 1;
    int on = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call, NULL);
    for (int i = 0; i < times; i++) {
        random = random * 1103515245U + 12345U;
        const int value = (int)(random >> 16 & 1);
        MPI_T_cvar_write(handles[(random >> 20) % (unsigned)(layers - 1)], &value);
    }
    for (int i = 0; i < layers - 1; i++)
        MPI_T_cvar_write(handles[i], &on);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("layers %d calls %llu\n", layers, (unsigned long long)calls);
}

int main(int argc, char **argv)
{
    int provided, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1)
        switch_layers(atoi(argv[1]));
    else
        make_messages();
    MPI_Finalize();
    return 0;
}
