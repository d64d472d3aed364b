/* SPDX-License-Identifier: MIT */
/*
 * See cli.h. Commands run in processes of their own, so that a tool that crashes or hangs does not
 * affect this process. Output that is captured goes to files without names, because pipes could
 * fill up. This process watches the time limit, because a tool may use or block an alarm in its own
 * process.
 */
#define _GNU_SOURCE

#include "cli/cli.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t time_limit = UINT64_C(10) * 1000000000; /* nanoseconds */

void cli_child_set_time_limit(const char *text, const struct argp_state *state)
{
    if (!qmpi_value_time(text, &time_limit))
        cli_misuse(state, "--timeout must be %s, not '%s'", QMPI_VALUE_TIME, text);
}

/* ---- One process ----------------------------------------------------------------------------- */

static char *take_output(int descriptor)
{
    struct stat status;
    char *text = NULL;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        text = qmpi_allocate((size_t)status.st_size + 1, 1);
        if (pread(descriptor, text, (size_t)status.st_size, 0) < 0)
            *text = '\0';
    }
    if (descriptor >= 0)
        close(descriptor);
    return text ? text : qmpi_copy("");
}

static void run_command(const struct cli_child *child, const sigset_t *signals)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* An interrupt from the terminal does not reach the new process group. It ends
                      the parent, and PR_SET_PDEATHSIG then ends this process. */
    signal(SIGTTOU, SIG_IGN); /* Some terminals stop a background group that writes to them. */
    if (!child->shown) {
        const int input = open("/dev/null", O_RDONLY);
        dup2(input, STDIN_FILENO);
        dup2(child->descriptors[0], STDOUT_FILENO);
        dup2(child->descriptors[1], STDERR_FILENO);
    }
    for (int i = 0; child->variables[i]; i += 2)
        setenv(child->variables[i], child->variables[i + 1], 1);
    sigprocmask(SIG_SETMASK, signals, NULL);
    execv(child->command[0], (char *const *)child->command);
    _exit(127);
}

static void start_child(struct cli_child *child, const sigset_t *signals)
{
    child->status = -1;
    child->descriptors[0] = child->shown ? -1 : memfd_create("output", MFD_CLOEXEC);
    child->descriptors[1] = child->shown ? -1 : memfd_create("errors", MFD_CLOEXEC);
    const bool ready = child->shown || (child->descriptors[0] >= 0 && child->descriptors[1] >= 0);
    fflush(stdout);
    child->process = ready ? fork() : 0;
    if (ready && child->process == 0)
        run_command(child, signals);
    if (child->process < 0)
        child->process = 0;
    clock_gettime(CLOCK_MONOTONIC, &child->deadline);
    const uint64_t nanoseconds = (uint64_t)child->deadline.tv_nsec + time_limit;
    child->deadline.tv_sec += (time_t)(nanoseconds / 1000000000);
    child->deadline.tv_nsec = (long)(nanoseconds % 1000000000);
}

/* Returns whether the process has ended. Does not reap it yet, because its ID is also that of its
 * process group, which may have to be killed. */
static bool has_ended(struct cli_child *child)
{
    siginfo_t ended = {.si_pid = 0};
    const bool known =
        waitid(P_PID, (id_t)child->process, &ended, WEXITED | WNOWAIT | WNOHANG) == 0;
    return !known || ended.si_pid == child->process;
}

static void end_child(struct cli_child *child, bool hangs)
{
    int status;
    if (hangs || !child->shown)
        kill(-child->process, SIGKILL); /* The process may have left others behind. */
    if (hangs)
        kill(child->process, SIGKILL); /* It may not have created its group yet. */
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR)
        continue;
    child->status = hangs ? -1 : status;
    child->process = 0;
}

/* ---- Several processes ----------------------------------------------------------------------- */

static bool is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

/* Waits until a child ends, but only for a short time, so that no deadline is missed by much. */
static void wait_a_while(const sigset_t *child_ends)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
    sigtimedwait(child_ends, NULL, &moment);
}

void cli_child_run_all(struct cli_child *children, int count)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int most = processors > 0 && processors < 64 ? 2 * (int)processors : 8;
    sigset_t child_ends, before;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* The parent process may have left SIGCHLD ignored. */
    sigprocmask(SIG_BLOCK, &child_ends, &before);
    for (int next = 0, running = 0; next < count || running;) {
        for (; next < count && running < most; next++) {
            start_child(&children[next], &before);
            running += children[next].process != 0;
        }
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (int i = 0; i < next; i++) {
            struct cli_child *child = &children[i];
            const bool hangs = time_limit && is_later(&now, &child->deadline);
            if (!child->process || (!has_ended(child) && !hangs))
                continue;
            end_child(child, !has_ended(child));
            running--;
        }
        if (running)
            wait_a_while(&child_ends);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < count; i++) {
        children[i].output = take_output(children[i].descriptors[0]);
        children[i].errors = take_output(children[i].descriptors[1]);
    }
}

struct cli_child cli_child_run(const char *const *command, const char *const *variables)
{
    struct cli_child child = {.command = command, .variables = variables};
    cli_child_run_all(&child, 1);
    return child;
}

void cli_child_free(struct cli_child *child)
{
    free(child->output);
    free(child->errors);
}
