/* SPDX-License-Identifier: MIT */
/*
 * See ending.h. Nothing that writes a file in full is safe in a signal handler; so a child writes
 * it, a copy of the process at that moment, made by the bare system call: no lock is waited for in
 * the process itself. The child may find the memory allocator's lock held, or the heap broken; then
 * it is given up after a while, with a message, and the process ends all the same.
 */
#define _GNU_SOURCE
#include "ending.h"

#include "checkpoint.h"
#include "layer.h"
#include "mpi_library.h"
#include "own.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 20 /* seconds for the child */, STACK = 256 * 1024 };

/* Those whose default action ends the process. */
static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
    {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"},     {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
    {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},     {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"}, {SIGSYS, "SIGSYS"},
};
enum { SIGNALS = sizeof signals / sizeof *signals };

static atomic_bool watching;

/* What was there before us, and is put back. */
static struct sigaction before[SIGNALS];
static bool watched[SIGNALS];

static const char *name_of(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return "";
}

/* ---- In the handler -----------------------------------------------------------------------------
 */

static void set_default(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, NULL);
}

static pid_t copy_process(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
#endif
}

static void write_in_child(int number)
{
    char ending[32];
    sigset_t none;
    for (int i = 0; i < SIGNALS; i++) {
        if (watched[i])
            set_default(signals[i].number);
    }
    signal(SIGXFSZ, SIG_IGN); /* too large a file is an error of its writing */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PATIENCE);
    snprintf(ending, sizeof ending, "signal %s", name_of(number));
    for (struct layer *layer = profile_layers; layer; layer = layer->next)
        own_leave(layer, ending, true);
    _exit(0);
}

static void wait_for_child(pid_t child)
{
    static const char lost[] =
        "qmpi: profile: what this process has could not be saved: the signal struck in the memory "
        "allocator, or broke it\nqmpi:   mend: checkpoint=SECONDS saves it before\n";
    const struct timespec pause = {0, 2000000};
    int status = -1;
    pid_t ended = 0;
    for (int tries = 0; ended == 0 && tries < (PATIENCE + 1) * 500; tries++) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended < 0 && errno == EINTR)
            ended = 0;
        if (ended == 0)
            nanosleep(&pause, NULL);
    }
    if (ended < 0 && errno == ECHILD)
        return; /* the application lets the kernel collect its children */
    if (ended != child) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
        const ssize_t written = write(STDERR_FILENO, lost, sizeof lost - 1);
        (void)written;
    }
}

static bool all_reported(void)
{
    bool all = true;
    for (const struct layer *layer = profile_layers; layer; layer = layer->next)
        all = all && atomic_load(&layer->reported);
    return all;
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGABRT;
}

/* A fault that the processor raised happens again on return; another signal must be sent again. */
static bool comes_again(int number, const siginfo_t *info)
{
    return is_fault(number) && number != SIGABRT && info->si_code > 0;
}

static void put_back(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number)
            sigaction(number, &before[i], NULL);
    }
}

static void struck(int number, siginfo_t *info, void *context)
{
    static atomic_bool busy;
    const int error = errno;
    (void)context;
    if (profile_is_owner() && !all_reported()) {
        if (atomic_exchange(&busy, true)) {
            /* Another thread was struck first: it ends the process. */
            const struct timespec pause = {PATIENCE + 2, 0};
            nanosleep(&pause, NULL);
        } else {
            checkpoint_strike();
            const pid_t child = copy_process();
            if (child == 0)
                write_in_child(number);
            if (child > 0)
                wait_for_child(child);
        }
    }
    put_back(number);
    if (!comes_again(number, info))
        raise(number);
    errno = error;
}

/* ---- Watching -----------------------------------------------------------------------------------
 */

/* A stack that has overflown has no room for a handler. */
static void make_stack(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
        return;
    stack = (stack_t){.ss_sp = malloc(STACK), .ss_size = STACK};
    if (stack.ss_sp && sigaltstack(&stack, NULL))
        free(stack.ss_sp);
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* Communication libraries (UCX) have handlers that print where a fault was and end the process. */
static bool is_libraries(int number, const struct sigaction *action)
{
    const bool has_info = action->sa_flags & SA_SIGINFO;
    return is_fault(number) && (has_info || action->sa_handler != SIG_IGN) &&
           mpi_library_holds(has_info ? (const void *)(uintptr_t)action->sa_sigaction
                                      : (const void *)(uintptr_t)action->sa_handler);
}

void ending_watch(void)
{
    if (atomic_exchange(&watching, true))
        return;
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = struck;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    make_stack();
    for (int i = 0; i < SIGNALS; i++) {
        const int number = signals[i].number;
        watched[i] = !sigaction(number, NULL, &before[i]) &&
                     (is_default(&before[i]) || is_libraries(number, &before[i])) &&
                     !sigaction(number, &ours, NULL);
    }
}

void ending_unwatch(void)
{
    struct sigaction now;
    if (!all_reported() || !atomic_exchange(&watching, false))
        return;
    for (int i = 0; i < SIGNALS; i++) {
        if (watched[i] && !sigaction(signals[i].number, NULL, &now) && now.sa_flags & SA_SIGINFO &&
            now.sa_sigaction == struck)
            put_back(signals[i].number);
        watched[i] = false;
    }
}

/* ---- Exit ---------------------------------------------------------------------------------------
 */

__attribute__((destructor)) static void leave(void)
{
    if (!profile_is_owner())
        return; /* a forked child: the numbers are its parent's */
    for (struct layer *layer = profile_layers; layer; layer = layer->next) {
        checkpoint_stop(layer);
        own_leave(layer, "exit", false);
    }
    ending_unwatch();
}
