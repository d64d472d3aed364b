/* SPDX-License-Identifier: MIT */
/*
 * Calls MPI while a signal is raised after each instruction, by the processor's trap flag. The
 * signal handler reads a variable that a layer publishes, as docs/write/mpi_t.md allows. So the
 * work of a tool for a call is interrupted at each place at which it does not block signals,
 * including in malloc and while it holds locks.
 *
 *     every_step VARIABLE STEP...
 *
 * It prints how often the handler has read the variable, and how many of these reads failed.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <x86intrin.h>

enum { TRAP = 0x100 };

static void set_trap(int on)
{
    const unsigned long long flags = __readeflags();
    __writeeflags(on ? flags | TRAP : flags & ~(unsigned long long)TRAP);
}
#else
static void set_trap(int on)
{
    (void)on;
    puts("no trap flag");
    exit(77);
}
#endif

static volatile sig_atomic_t stepping, in_handler;
static volatile long reads, failures;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle variable;

static void strike(int number)
{
    const int error = errno;
    unsigned long long value = 0;
    (void)number;
    in_handler = 1;
    failures += MPI_T_pvar_read(session, variable, &value) != MPI_SUCCESS;
    reads++;
    in_handler = 0;
    errno = error;
}

/* Clears the trap flag while the program blocks SIGTRAP, because the system kills a process that
 * traps then. Nothing is missed, because other signals do not interrupt such code either. */
static int change_mask(const char *name, int how, const sigset_t *set, sigset_t *old)
{
    int (*real)(int how, const sigset_t *set, sigset_t *old);
    void *found = dlsym(RTLD_NEXT, name);
    sigset_t now;
    memcpy(&real, &found, sizeof real);
    if (!stepping || in_handler)
        return real(how, set, old);
    set_trap(0);
    const int result = real(how, set, old);
    real(SIG_BLOCK, NULL, &now);
    if (!sigismember(&now, SIGTRAP))
        set_trap(1);
    return result;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask("sigprocmask", how, set, old);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask("pthread_sigmask", how, set, old);
}

static int find(const char *wanted)
{
    int count = 0, index = -1;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count && index < 0; i++) {
        char name[256];
        int length = sizeof name, none = 0, class, verbosity, binding, readonly, continuous, atomic;
        MPI_Datatype datatype;
        MPI_T_enum enumeration;
        if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &datatype, &enumeration, NULL,
                                &none, &binding, &readonly, &continuous, &atomic) == MPI_SUCCESS &&
            !strcmp(name, wanted))
            index = i;
    }
    return index;
}

static void begin(void)
{
    struct sigaction action = {.sa_handler = strike};
    sigaction(SIGTRAP, &action, NULL);
    stepping = 1;
    set_trap(1);
}

static void end(void)
{
    set_trap(0);
    stepping = 0;
}

/* In this thread, the signal handler makes the first MPI call, and interrupts malloc. */
static void *call_in_thread(void *data)
{
    int rank;
    (void)data;
    begin();
    void *memory = malloc(100000);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    end();
    free(memory);
    return NULL;
}

static void take(const char *step)
{
    int number = -1;
    unsigned long long value;
    static char name[MPI_MAX_OBJECT_NAME];
    static MPI_Comm comm;
    pthread_t thread;
    if (!strcmp(step, "thread")) {
        pthread_create(&thread, NULL, call_in_thread, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(step, "dup")) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
    } else {
        begin();
        if (!strcmp(step, "rank"))
            MPI_Comm_rank(MPI_COMM_WORLD, &number);
        else if (!strcmp(step, "of_dup"))
            MPI_Comm_rank(comm, &number);
        else if (!strcmp(step, "set_name"))
            MPI_Comm_set_name(comm, "rows");
        else if (!strcmp(step, "get_name"))
            MPI_Comm_get_name(comm, name, &number);
        else if (!strcmp(step, "read"))
            MPI_T_pvar_read(session, variable, &value);
        end();
    }
}

int main(int argc, char **argv)
{
    int provided, index, count;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    index = find(argv[1]);
    if (index < 0 ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &variable, &count) != MPI_SUCCESS)
        return 3;
    for (int i = 2; i < argc; i++)
        take(argv[i]);
    printf("reads %ld failures %ld\n", reads, failures);
    MPI_Finalize();
    return 0;
}
