/* SPDX-License-Identifier: MIT */
/*
 * The actions of signals as the program sees them: without the handlers that tools have set to
 * learn how the process ends (QMPIX_Tool_sigaction). If a program received such a handler as the
 * previous action and called it, the program would be terminated by a signal that it survives
 * without tools. Therefore, libqmpi replaces the functions of the C library that return the
 * previous action; they return the action before those of the tools. If the program sets this
 * action again, the handler of the tools is restored. Other libraries may interpose these functions
 * as well, so those of libqmpi call the next ones in the search order of the loader.
 *
 * sigaction and signal may be called in signal handlers, so there is no lock.
 */
#define _GNU_SOURCE
#include <qmpi/qmpi.h>

#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*handler_function)(int number);
typedef int sigaction_function(int number, const struct sigaction *action, struct sigaction *old);
typedef handler_function signal_function(int number, handler_function handler);

/* ---- The next functions ---------------------------------------------------------------------- */

enum real { ACTION, SIGNAL, BSD_SIGNAL, SSIGNAL, SYSV_SIGNAL, SYSV_SIGNAL_TOO, SIGSET, REALS };

static const char *const names[REALS] = {
    "sigaction", "signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigset",
};
/* Each thread that finds an empty element stores the same function, which has existed since the
 * process was started, so relaxed order suffices. */
static void *reals[REALS];

/* A sanitizer may call these functions before its shadow memory exists. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static void *find_real(enum real which)
{
    void *found = __atomic_load_n(&reals[which], __ATOMIC_RELAXED);
    if (!found)
        found = qmpi_next_symbol(names[which]);
    __atomic_store_n(&reals[which], found, __ATOMIC_RELAXED);
    return found;
}

/* Finds all of them before a signal handler needs them, because a look-up takes a lock. */
__attribute__((constructor)) EARLY static void find_all_real(void)
{
    for (int which = 0; which < REALS; which++)
        find_real((enum real)which);
    dlerror(); /* discard the error of a failed look-up */
}

EARLY static int real_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    sigaction_function *function = (sigaction_function *)(uintptr_t)find_real(ACTION);
    if (function)
        return function(number, action, old);
    errno = ENOSYS;
    return -1;
}

/* ---- Handlers of tools ----------------------------------------------------------------------- */

struct hidden {
    struct sigaction tool, before; /* the action of a tool, and the one before it */
    atomic_bool removed; /* the tool has restored an action, or its own could not be set */
    struct hidden *older;
};

enum { NUMBERS = 65 };
/* Lists with the latest entry first. Entries are only added: an exchange makes a complete entry the
 * first one, and signal handlers and other threads load the first one with acquire order. */
static _Atomic(struct hidden *) hidden[NUMBERS];

static const void *handler_of(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ? (const void *)(uintptr_t)action->sa_sigaction
                                         : (const void *)(uintptr_t)action->sa_handler;
}

/* Returns the latest action that was not removed; NULL: the program sees the actual action. */
EARLY static struct hidden *top_of(int number)
{
    struct hidden *top = number > 0 && number < NUMBERS
                             ? atomic_load_explicit(&hidden[number], memory_order_acquire)
                             : NULL;
    while (top && atomic_load(&top->removed))
        top = top->older;
    return top;
}

static struct hidden *find_hidden(struct hidden *from, const struct sigaction *action)
{
    while (from && handler_of(&from->tool) != handler_of(action))
        from = from->older;
    return from;
}

/* Returns what the program sees if the actual action is `action`. */
static struct sigaction visible_action(struct hidden *top, struct sigaction action)
{
    for (; (top = find_hidden(top, &action)); top = top->older)
        action = top->before;
    return action;
}

/* Whether `handler`, which the program sets, is that of the action that it sees. */
static bool is_restored(struct hidden *top, const void *handler)
{
    const struct sigaction next_action = visible_action(top, top->tool);
    return handler == handler_of(&next_action);
}

static int hide_action(int number, const struct sigaction *action, const struct sigaction *before)
{
    struct hidden *entry = calloc(1, sizeof *entry);
    if (!entry)
        return MPI_ERR_NO_MEM;
    entry->tool = *action;
    entry->before = *before;
    entry->older = atomic_load(&hidden[number]);
    while (!atomic_compare_exchange_weak(&hidden[number], &entry->older, entry))
        continue;
    return MPI_SUCCESS;
}

int QMPIX_Tool_sigaction(int number, const struct sigaction *action, struct sigaction *old,
                         int tool_action)
{
    struct sigaction found = {.sa_flags = 0}; /* a sanitizer's sigaction may leave it unchanged */
    if (number <= 0 || number >= NUMBERS || real_sigaction(number, NULL, &found))
        return MPI_ERR_ARG;
    if (action && tool_action) {
        const int result = hide_action(number, action, &found);
        if (result != MPI_SUCCESS)
            return result;
    }
    struct hidden *top = top_of(number);
    if (action && real_sigaction(number, action, NULL)) {
        if (tool_action)
            atomic_store(&top->removed, true);
        return MPI_ERR_ARG;
    }
    if (action && !tool_action && (top = find_hidden(top, &found)))
        atomic_store(&top->removed, true);
    if (old)
        *old = found;
    return MPI_SUCCESS;
}

/* ---- Exported functions ---------------------------------------------------------------------- */

#define EXPORTED __attribute__((visibility("default")))

EXPORTED EARLY int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct hidden *top = top_of(number);
    if (!top)
        return real_sigaction(number, action, old);
    struct sigaction found = {.sa_flags = 0}; /* a sanitizer's sigaction may leave it unchanged */
    if (action && is_restored(top, handler_of(action)))
        action = &top->tool;
    const int result = real_sigaction(number, action, &found);
    if (!result && old)
        *old = visible_action(top, found);
    return result;
}

EARLY static handler_function set_handler(enum real which, int number, handler_function handler)
{
    signal_function *function = (signal_function *)(uintptr_t)find_real(which);
    struct hidden *top = top_of(number);
    if (!function) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    handler_function old = function(number, handler);
    if (!top || old == SIG_ERR)
        return old;
    if (is_restored(top, (const void *)(uintptr_t)handler))
        real_sigaction(number, &top->tool, NULL);
    const struct sigaction found = {.sa_handler = old}, shown = visible_action(top, found);
    return (handler_function)(uintptr_t)handler_of(&shown);
}

#define SET(name, which)                                                                           \
    EXPORTED EARLY handler_function name(int number, handler_function handler);                    \
    EXPORTED EARLY handler_function name(int number, handler_function handler)                     \
    {                                                                                              \
        return set_handler(which, number, handler);                                                \
    }
SET(signal, SIGNAL)
SET(bsd_signal, BSD_SIGNAL)
SET(ssignal, SSIGNAL)
SET(sysv_signal, SYSV_SIGNAL)
SET(__sysv_signal, SYSV_SIGNAL_TOO)
SET(sigset, SIGSET)
