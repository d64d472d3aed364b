/* SPDX-License-Identifier: MIT */
/*
 * See spawn.h. An intermediate child starts the program and exits, so that the program is not a
 * child of this process. The intermediate child is created by clone without an exit signal, so that
 * the wait calls of this process do not find it. It shares the memory of this process instead of
 * copying it, because the memory may be large or registered with a network card.
 */
#define _GNU_SOURCE
#include "util/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The function `clone` of the C library under another name. The program may contain
 * ThreadSanitizer's `clone`, which treats each child as if fork had created it, so that locks stay
 * held. */
int __clone(int (*function)(void *), void *stack, int flags, void *data, ...);

enum { STACK_SIZE = 64 * 1024 };

struct start {
    char *const *arguments;
    const int *descriptors;
    char *stack;          /* the upper end of the stack of the child that becomes the program */
    volatile bool failed; /* written by the children, which share this memory */
};

/* Marks functions that the children run. They are not instrumented, because a sanitizer would take
 * a child for a thread on an unknown stack. */
#define BESIDE __attribute__((no_sanitize("address", "undefined", "thread")))

BESIDE static bool set_descriptor(int from, int to)
{
    if (from >= 0)
        return dup2(from, to) == to;
    close(to);
    return true;
}

BESIDE static int become_program(void *data)
{
    static char *const no_environment[] = {NULL};
    struct start *start = data;
    bool good = true;
    for (int i = 0; i < QMPI_SPAWN_DESCRIPTORS; i++)
        good = good && set_descriptor(start->descriptors[i], i);
    if (good)
        execve(start->arguments[0], start->arguments, no_environment);
    start->failed = true;
    return 0;
}

/* vfork is not used, because a sanitizer would then clear its records of the memory between the
 * thread's own stack and this one. */
BESIDE static int start_and_end(void *data)
{
    struct start *start = data;
    if (__clone(become_program, start->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, start) < 0)
        start->failed = true;
    return 0;
}

bool qmpi_spawn_detached(char *const *arguments, const int *descriptors)
{
    struct start start = {arguments, descriptors, NULL, false};
    sigset_t all, before;
    int cancel;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    /* Blocks signals, because handlers of the program must not run in the child. */
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    start.stack = stack + STACK_SIZE / 2;
    const pid_t child = __clone(start_and_end, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK, &start);
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    munmap(stack, STACK_SIZE);
    return child > 0 && !start.failed;
}

int qmpi_spawn_end_of_process(void)
{
    int ends[2] = {-1, -1};
#ifdef SYS_pidfd_open
    ends[0] = (int)syscall(SYS_pidfd_open, getpid(), 0);
#endif
    if (ends[0] < 0 && pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const int moved = fcntl(ends[0], F_DUPFD_CLOEXEC, QMPI_SPAWN_DESCRIPTORS);
    close(ends[0]);
    return moved;
}
