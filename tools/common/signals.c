/* SPDX-License-Identifier: MIT */
/* See signals.h. */
#define _GNU_SOURCE
#include "signals.h"

#include "mpi_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK = 256 * 1024 };

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

static const struct tool_signals *user;

/* What was there before us, and is put back. */
static struct sigaction before[SIGNALS];
static bool watched[SIGNALS];
static atomic_bool passed[SIGNALS]; /* on to what was there before */

static int place_of(int number)
{
    int i = 0;
    while (i < SIGNALS - 1 && signals[i].number != number)
        i++;
    return i;
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

void tool_signals_set_default(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (watched[i])
            set_default(signals[i].number);
    }
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

static void struck(int number, siginfo_t *info, void *context)
{
    static atomic_bool busy;
    const int error = errno, place = place_of(number);
    (void)context;
    if (user->wants()) {
        if (atomic_exchange(&busy, true)) {
            /* Another thread was struck first: it ends the process. */
            const struct timespec pause = {TOOL_SIGNALS_PATIENCE + 2, 0};
            nanosleep(&pause, NULL);
        } else {
            user->struck(number, signals[place].name);
        }
    }
    /* Two handlers that each hold the other for the one before would never end the process. */
    if (atomic_exchange(&passed[place], true))
        set_default(number);
    else
        sigaction(number, &before[place], NULL);
    if (!comes_again(number, info))
        raise(number);
    errno = error;
}

/* By this name the handlers of other tools know ours. */
extern __typeof__(struck) qmpi_tool_struck __attribute__((alias("struck"), visibility("default")));

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

static const void *address_of(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ? (const void *)(uintptr_t)action->sa_sigaction
                                         : (const void *)(uintptr_t)action->sa_handler;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == struck;
}

/* Communication libraries (UCX) have handlers that print where a fault was and end the process. */
static bool is_libraries(int number, const struct sigaction *action)
{
    return is_fault(number) &&
           (action->sa_flags & SA_SIGINFO ||
            (action->sa_handler != SIG_IGN && action->sa_handler != SIG_DFL)) &&
           mpi_library_holds(address_of(action));
}

static bool is_tools(const struct sigaction *action)
{
    Dl_info info;
    return action->sa_flags & SA_SIGINFO && dladdr(address_of(action), &info) && info.dli_sname &&
           !strcmp(info.dli_sname, "qmpi_tool_struck");
}

static void watch(int i, const struct sigaction *ours)
{
    struct sigaction now;
    const int number = signals[i].number;
    if (sigaction(number, NULL, &now) || is_ours(&now))
        return;
    /* Another tool that stands above us leads on to us already. */
    const bool takes =
        is_default(&now) || is_libraries(number, &now) || (!watched[i] && is_tools(&now));
    if (takes) {
        before[i] = now;
        watched[i] = !sigaction(number, ours, NULL);
    }
}

void tool_signals_watch(const struct tool_signals *new_user)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = struck;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    user = new_user;
    make_stack();
    for (int i = 0; i < SIGNALS; i++)
        watch(i, &ours);
}

void tool_signals_unwatch(void)
{
    struct sigaction now;
    for (int i = 0; i < SIGNALS; i++) {
        if (!watched[i] || sigaction(signals[i].number, NULL, &now))
            continue;
        if (is_ours(&now))
            sigaction(signals[i].number, &before[i], NULL);
        else if (is_tools(&now))
            continue; /* it leads on to us, and we to what was before us */
        watched[i] = false;
    }
}
