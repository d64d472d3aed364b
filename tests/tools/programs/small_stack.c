/* SPDX-License-Identifier: MIT */
/*
 * Makes calls of several kinds in a thread with a small stack: `small_stack KILOBYTES [END]`. If
 * the system does not allow this size, the stack has the least size that it allows. END determines
 * how the thread ends the run: `finalize`, `exit`, `abort`, or `snapshot`, which saves a snapshot
 * and then finalizes MPI. Without END, the main thread finalizes MPI.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void communicate(int round)
{
    int sent = round, received = -1, length, flag;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Isend(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&received, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Iprobe(0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Wtime();
    if (received != round)
        exit(4);
}

static void end(const char *how)
{
    if (!strcmp(how, "snapshot"))
        MPI_Pcontrol(2);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 0);
    if (strcmp(how, "exit") != 0)
        MPI_Finalize();
    printf("done\n");
    exit(0);
}

static void *work(void *data)
{
    for (int round = 0; round < 20; round++) {
        communicate(round);
        MPI_Pcontrol(1, "rounds");
        communicate(round);
        MPI_Pcontrol(-1, "rounds");
    }
    MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_SELF); /* fails, because there is no such rank */
    if (data)
        end(data);
    return data;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    pthread_attr_t attributes;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    pthread_attr_init(&attributes);
    const size_t wanted = (size_t)atoi(argv[1]) * 1024;
    const size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on some processors */
    if (pthread_attr_setstacksize(&attributes, wanted > least ? wanted : least) ||
        pthread_create(&thread, &attributes, work, argc > 2 ? argv[2] : NULL))
        return 3;
    pthread_join(thread, NULL);
    MPI_Finalize();
    puts("done");
    return 0;
}
