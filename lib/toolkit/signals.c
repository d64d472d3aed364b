/* SPDX-License-Identifier: MIT */
/* See signals.h. */
#define _GNU_SOURCE
#include "toolkit/signals.h"

#include "toolkit/mpi_library.h"

#include <qmpi/qmpi.h>

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

/* ---- In the handler -------------------------------------------------------------------------- */

static void put_back(int number, const struct sigaction *action)
{
    QMPIX_Tool_sigaction(number, action, NULL, false);
}

static void set_default(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    put_back(number, &action);
}

void tool_signals_set_default(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (watched[i])
            set_default(signals[i].number);
    }
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
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

/* By this name the handlers of other tools know ours. */
static void on_fatal_signal(int number, siginfo_t *info, void *context);
extern __typeof__(on_fatal_signal) qmpi_tool_on_fatal_signal
    __attribute__((alias("on_fatal_signal"), visibility("default")));

static const void *address_of(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ? (const void *)(uintptr_t)action->sa_sigaction
                                         : (const void *)(uintptr_t)action->sa_handler;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fatal_signal;
}

static bool is_tools(const struct sigaction *action)
{
    Dl_info info;
    return action->sa_flags & SA_SIGINFO && dladdr(address_of(action), &info) && info.dli_sname &&
           !strcmp(info.dli_sname, "qmpi_tool_on_fatal_signal");
}

/* Whether a handler of the program's called us, which sees tools' handlers as those of before
 * (where libqmpi was opened later than the C library). With the default action there it would have
 * gone on.
 */
static bool is_chained(int number)
{
    struct sigaction now;
    return !QMPIX_Tool_sigaction(number, NULL, &now, false) && !is_ours(&now) &&
           !is_default(&now) && !is_tools(&now);
}

static void on_fatal_signal(int number, siginfo_t *info, void *context)
{
    static atomic_bool busy;
    const int error = errno, place = place_of(number);
    (void)context;
    if (!is_fault(number) && is_chained(number))
        return;
    if (user->wants()) {
        if (atomic_exchange(&busy, true)) {
            /* Another thread was struck first: it ends the process. */
            const struct timespec pause = {TOOL_SIGNALS_PATIENCE + 2, 0};
            nanosleep(&pause, NULL);
        } else {
            user->on_fatal_signal(number, signals[place].name);
        }
    }
    /* Two handlers that each hold the other for the one before would never end the process. */
    if (atomic_exchange(&passed[place], true))
        set_default(number);
    else
        put_back(number, &before[place]);
    if (!comes_again(number, info))
        raise(number);
    errno = error;
}

/* ---- Watching -------------------------------------------------------------------------------- */

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

/* Communication libraries (UCX) have handlers that print where a fault was and end the process. */
static bool is_libraries(int number, const struct sigaction *action)
{
    return is_fault(number) &&
           (action->sa_flags & SA_SIGINFO ||
            (action->sa_handler != SIG_IGN && action->sa_handler != SIG_DFL)) &&
           mpi_library_holds(address_of(action));
}

static void watch(int i, const struct sigaction *ours)
{
    struct sigaction now;
    const int number = signals[i].number;
    if (QMPIX_Tool_sigaction(number, NULL, &now, false) || is_ours(&now))
        return;
    /* Another tool that stands above us leads on to us already. */
    const bool takes =
        is_default(&now) || is_libraries(number, &now) || (!watched[i] && is_tools(&now));
    if (takes) {
        before[i] = now;
        watched[i] = QMPIX_Tool_sigaction(number, ours, NULL, true) == MPI_SUCCESS;
    }
}

void tool_signals_watch(const struct tool_signals *new_user)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fatal_signal;
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
        if (!watched[i] || QMPIX_Tool_sigaction(signals[i].number, NULL, &now, false))
            continue;
        if (is_ours(&now))
            put_back(signals[i].number, &before[i]);
        else if (is_tools(&now))
            continue; /* it leads on to us, and we to what was before us */
        watched[i] = false;
    }
}
