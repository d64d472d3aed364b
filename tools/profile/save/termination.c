/* SPDX-License-Identifier: MIT */
/*
 * See termination.h. Nothing that writes a file in full is safe in a signal handler; so a child
 * writes it, a copy of the process at that moment, made by the bare system call: no lock is waited
 * for in the process itself. The child may find the memory allocator's lock held, or the heap
 * broken; then it is given up after a while, with a message, and the process ends all the same.
 */
#define _GNU_SOURCE
#include "save/termination.h"

#include "layer.h"
#include "save/checkpoint.h"
#include "save/process_report.h"
#include "toolkit/toolkit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = TOOL_SIGNALS_PATIENCE /* seconds for the child */ };

static atomic_bool watching;

/* ---- In the handler -------------------------------------------------------------------------- */

static pid_t copy_process(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
#endif
}

static void write_in_child(const char *name)
{
    char termination[32];
    sigset_t none;
    tool_signals_set_default();
    signal(SIGXFSZ, SIG_IGN); /* too large a file is an error of its writing */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PATIENCE);
    snprintf(termination, sizeof termination, "signal %s", name);
    for (struct layer *layer = profile_layers; layer; layer = layer->next)
        process_leave(layer, termination, true);
    _exit(0);
}

static void wait_for_child(pid_t child)
{
    static const char lost[] = "qmpi: profile: the data of this process could not be saved: the "
                               "signal interrupted the memory allocator or its data is corrupt\n"
                               "qmpi:   hint: use checkpoint=SECONDS to save data periodically\n";
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

static bool wants(void)
{
    return profile_is_owner() && !all_reported();
}

static void on_fatal_signal(int number, const char *name)
{
    (void)number;
    checkpoint_strike();
    const pid_t child = copy_process();
    if (child == 0)
        write_in_child(name);
    if (child > 0)
        wait_for_child(child);
}

/* ---- Watching -------------------------------------------------------------------------------- */

void termination_watch(void)
{
    static const struct tool_signals user = {wants, on_fatal_signal};
    if (!atomic_exchange(&watching, true))
        tool_signals_watch(&user);
}

void termination_unwatch(void)
{
    if (all_reported() && atomic_exchange(&watching, false))
        tool_signals_unwatch();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

__attribute__((destructor)) static void leave(void)
{
    if (!profile_is_owner())
        return; /* a forked child: the numbers are its parent's */
    for (struct layer *layer = profile_layers; layer; layer = layer->next) {
        checkpoint_stop(layer);
        if (tool_sessions_are_over(&layer->sessions))
            process_end_sessions(layer);
        else
            process_leave(layer, "exit", false);
    }
    termination_unwatch();
}
