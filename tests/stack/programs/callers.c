/* SPDX-License-Identifier: MIT */
/*
 * Calls MPI from functions with known names. The functions are exported, so that a tool can find
 * their names with dladdr. Without an argument, the program calls MPI_Comm_rank, MPI_Barrier and
 * MPI_Comm_size once each. Arguments:
 *   threads      four threads call MPI repeatedly, each from a function of its own
 *   comes_back   an error handler leaves a call by longjmp, and the call is made again
 *   fiber        the main thread and a user-level thread alternate, each while the other calls MPI
 *   fibers       the same with two user-level threads
 */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { THREADS = 4, ROUNDS = 5000 };

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

static int level = MPI_THREAD_MULTIPLE;

CALLER(caller_of_init, MPI_Init_thread(NULL, NULL, level, &number))
CALLER(caller_of_initialized, MPI_Initialized(&number))
CALLER(caller_of_rank, MPI_Comm_rank(MPI_COMM_WORLD, &number))
CALLER(caller_of_size, MPI_Comm_size(MPI_COMM_WORLD, &number))
CALLER(caller_of_barrier, MPI_Barrier(MPI_COMM_WORLD))
CALLER(caller_of_finalize, MPI_Finalize())
CALLER(caller_in_thread_0, MPI_Comm_rank(MPI_COMM_SELF, &number))
CALLER(caller_in_thread_1, MPI_Comm_rank(MPI_COMM_SELF, &number))
CALLER(caller_in_thread_2, MPI_Comm_rank(MPI_COMM_SELF, &number))
CALLER(caller_in_thread_3, MPI_Comm_rank(MPI_COMM_SELF, &number))

static int (*const of_thread[THREADS])(void) = {caller_in_thread_0, caller_in_thread_1,
                                                caller_in_thread_2, caller_in_thread_3};

static void *call_many(void *function)
{
    int (*const *call)(void) = function;
    for (int i = 0; i < ROUNDS; i++)
        (*call)();
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_many, (void *)&of_thread[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static jmp_buf before;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(before, 1);
}

/* The call that is left and the next one have the same call site, so that their frames have the
 * same address. */
__attribute__((noinline, visibility("default"))) int caller_that_comes_back(void);
int caller_that_comes_back(void)
{
    static int left;
    int number = 0;
    left = setjmp(before);
    const int result = MPI_Comm_size(left ? MPI_COMM_WORLD : MPI_COMM_NULL, &number);
    __asm__ volatile("" ::: "memory");
    return result + number;
}

static void leave_a_call(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    caller_that_comes_back();
    MPI_Errhandler_free(&handler);
}

/* Two fibers have the numbers 1 and 2, and main, which waits for them, the number 0. With the
 * argument `fiber`, main itself is fiber 1. */
static ucontext_t contexts[3];
static int running, finished[3];
static int home; /* the number of main: 0 or 1 */
static char stacks[3][1 << 18] __attribute__((aligned(16)));

CALLER(caller_in_fiber_1, MPI_Barrier(MPI_COMM_NULL))
CALLER(caller_in_fiber_2, MPI_Barrier(MPI_COMM_NULL))

static void switch_to(int next)
{
    const int now = running;
    running = next;
    swapcontext(&contexts[now], &contexts[next]);
}

static void switch_within_a_call(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    if (!finished[3 - running])
        switch_to(3 - running);
}

static void call_as_fiber_1(void)
{
    for (int i = 0; i < 2; i++)
        caller_in_fiber_1();
    finished[1] = 1;
    if (!finished[2])
        switch_to(2);
    else if (home == 0)
        switch_to(home);
}

static void call_as_fiber_2(void)
{
    for (int i = 0; i < 3; i++)
        caller_in_fiber_2();
    finished[2] = 1;
    switch_to(finished[1] ? home : 1);
}

static void start_fiber(int number, void (*function)(void))
{
    getcontext(&contexts[number]);
    contexts[number].uc_stack.ss_sp = stacks[number];
    contexts[number].uc_stack.ss_size = sizeof stacks[number];
    makecontext(&contexts[number], function, 0);
}

static void run_fibers(int count)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(switch_within_a_call, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    start_fiber(2, call_as_fiber_2);
    if (count == 1) {
        running = home = 1;
        call_as_fiber_1();
    } else {
        start_fiber(1, call_as_fiber_1);
        switch_to(1);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    /* With several threads, MPICH 5 holds a lock while it calls an error handler, which therefore
     * must not leave the call or switch to another fiber. */
    if (argc > 1 && (!strcmp(argv[1], "comes_back") || !strncmp(argv[1], "fiber", 5)))
        level = MPI_THREAD_SINGLE;
    caller_of_initialized();
    caller_of_init();
    if (argc > 1 && !strcmp(argv[1], "threads")) {
        run_threads();
    } else if (argc > 1 && !strcmp(argv[1], "comes_back")) {
        leave_a_call();
        caller_of_size();
    } else if (argc > 1 && !strncmp(argv[1], "fiber", 5)) {
        run_fibers(strcmp(argv[1], "fiber") ? 2 : 1);
        caller_of_size();
    } else {
        caller_of_rank();
        caller_of_barrier();
        caller_of_size();
    }
    caller_of_finalize();
    puts("done");
    return 0;
}
