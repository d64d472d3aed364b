/* SPDX-License-Identifier: MIT */
/*
 * Makes calls of several kinds in a thread with a small stack: `small_stack KILOBYTES [END]`. If
 * the system does not allow this size, the stack has the least size that it allows. END determines
 * how the thread ends the run: `finalize`, `exit`, `abort`, or `snapshot`, which saves a snapshot
 * and then finalizes MPI. Without END, the main thread finalizes MPI. With `first` or `first_pmpi`,
 * the thread makes nothing but the first MPI call of the process, and the main thread initializes
 * and finalizes MPI. With `handler`, a signal handler on a stack of this size does the same. With
 * `only`, the thread makes 100000 calls, and ends the process without MPI_Init.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* ---- The first call ---- */

static int initialized = -1;

static void *call_first(void *data)
{
    MPI_Initialized(&initialized);
    return data;
}

static void *call_only(void *data)
{
    for (int i = 0; i < 100000; i++)
        MPI_Initialized(&initialized);
    puts("done");
    exit(data != NULL);
}

static void *call_first_pmpi(void *data)
{
    PMPI_Initialized(&initialized);
    return data;
}

static void handle(int number)
{
    (void)number;
    MPI_Initialized(&initialized);
}

/* Returns a stack with a page before it that cannot be written. */
static void *make_stack(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *begin =
        mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED || mprotect(begin, page, PROT_NONE))
        exit(3);
    return begin + page;
}

static void call_in_handler(size_t size)
{
    const stack_t stack = {.ss_sp = make_stack(size), .ss_size = size};
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
        exit(3);
    raise(SIGUSR1);
}

/* ---- In a thread ---- */

static void run_thread(size_t size, void *(*function)(void *), void *data)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, size) ||
        pthread_create(&thread, &attributes, function, data))
        exit(3);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided;
    char *how = argc > 2 ? argv[2] : "";
    const size_t wanted = (size_t)atoi(argv[1]) * 1024;
    const size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on some processors */
    const size_t size = wanted > least ? wanted : least;
    if (!strcmp(how, "first"))
        run_thread(size, call_first, NULL);
    else if (!strcmp(how, "first_pmpi"))
        run_thread(size, call_first_pmpi, NULL);
    else if (!strcmp(how, "handler"))
        call_in_handler(size);
    else if (!strcmp(how, "only"))
        run_thread(size, call_only, NULL);
    const int is_first = initialized == 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!is_first)
        run_thread(size, work, argc > 2 ? how : NULL);
    MPI_Finalize();
    puts("done");
    return 0;
}
