/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: commands in processes of their own, so that a tool that crashes or hangs harms
 * nobody. Their output goes to files without names: pipes could fill up. The time is kept here and
 * not by an alarm in the process, which a tool may take or hold off.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

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

int doctor_patience = DOCTOR_PATIENCE;

void doctor_set_patience(const char *text, const struct argp_state *state)
{
    char *end;
    errno = 0;
    const long seconds = strtol(text, &end, 10);
    if (end == text || *end || errno || seconds < 0 || seconds > INT_MAX)
        cli_misuse(state, "--timeout must be a number of seconds, 0 or more, not '%s'", text);
    doctor_patience = (int)seconds;
}

/* ---- One process ----------------------------------------------------------------------------- */

static char *take(int descriptor)
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

static void become(const struct doctor_child *child, const sigset_t *signals)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a group of its own gets no interrupt from the terminal */
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* nor may such a group write to some: it would be stopped */
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

static void start(struct doctor_child *child, const sigset_t *signals)
{
    child->status = -1;
    child->descriptors[0] = child->shown ? -1 : memfd_create("output", MFD_CLOEXEC);
    child->descriptors[1] = child->shown ? -1 : memfd_create("errors", MFD_CLOEXEC);
    const bool ready = child->shown || (child->descriptors[0] >= 0 && child->descriptors[1] >= 0);
    fflush(stdout);
    child->process = ready ? fork() : 0;
    if (ready && child->process == 0)
        become(child, signals);
    if (child->process < 0)
        child->process = 0;
    clock_gettime(CLOCK_MONOTONIC, &child->deadline);
    child->deadline.tv_sec += doctor_patience;
}

/* Before it is reaped: its number is its group's. */
static bool has_ended(struct doctor_child *child)
{
    siginfo_t ended = {.si_pid = 0};
    const bool known =
        waitid(P_PID, (id_t)child->process, &ended, WEXITED | WNOWAIT | WNOHANG) == 0;
    return !known || ended.si_pid == child->process;
}

static void finish(struct doctor_child *child, bool hangs)
{
    int status;
    if (hangs || !child->shown)
        kill(-child->process, SIGKILL); /* also what it may have left behind */
    if (hangs)
        kill(child->process, SIGKILL); /* before it made its group */
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR)
        continue;
    child->status = hangs ? -1 : status;
    child->process = 0;
}

/* ---- Several --------------------------------------------------------------------------------- */

static bool is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

/* Until a child ends, or for so long that no deadline is missed by much. */
static void wait_a_while(const sigset_t *child_ends)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
    sigtimedwait(child_ends, NULL, &moment);
}

void doctor_children_run(struct doctor_child *children, int count)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int most = processors > 0 && processors < 64 ? 2 * (int)processors : 8;
    sigset_t child_ends, before;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* who started us may have had it ignored */
    sigprocmask(SIG_BLOCK, &child_ends, &before);
    for (int next = 0, running = 0; next < count || running;) {
        for (; next < count && running < most; next++) {
            start(&children[next], &before);
            running += children[next].process != 0;
        }
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (int i = 0; i < next; i++) {
            struct doctor_child *child = &children[i];
            const bool after_start = doctor_patience && is_later(&now, &child->deadline);
            if (!child->process || (!has_ended(child) && !after_start))
                continue;
            finish(child, !has_ended(child));
            running--;
        }
        if (running)
            wait_a_while(&child_ends);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < count; i++) {
        children[i].output = take(children[i].descriptors[0]);
        children[i].errors = take(children[i].descriptors[1]);
    }
}

struct doctor_child doctor_child_run(const char *const *command, const char *const *variables)
{
    struct doctor_child child = {.command = command, .variables = variables};
    doctor_children_run(&child, 1);
    return child;
}

void doctor_child_free(struct doctor_child *child)
{
    free(child->output);
    free(child->errors);
}
