/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: commands in processes of their own, so that a tool that crashes or hangs harms
 * nobody. Their output goes to files without names: pipes could fill up.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60 }; /* seconds */

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

static void become(const char *const *command, const char *const *variables, int output, int errors)
{
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    for (int i = 0; variables[i]; i += 2)
        setenv(variables[i], variables[i + 1], 1);
    setpgid(0, 0);
    alarm(PATIENCE); /* it stays in force after execv */
    execv(command[0], (char *const *)command);
    _exit(127);
}

struct doctor_child doctor_child_run(const char *const *command, const char *const *variables)
{
    struct doctor_child child = {.status = -1};
    const int output = memfd_create("output", MFD_CLOEXEC);
    const int errors = memfd_create("errors", MFD_CLOEXEC);
    fflush(stdout);
    const pid_t process = output < 0 || errors < 0 ? -1 : fork();
    if (process == 0)
        become(command, variables, output, errors);
    if (process > 0) {
        siginfo_t ended;
        while (waitid(P_PID, (id_t)process, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
            ;
        kill(-process, SIGKILL); /* what it may have left behind */
        waitpid(process, &child.status, 0);
    }
    if (WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGALRM)
        child.status = -1;
    child.output = take(output);
    child.errors = take(errors);
    return child;
}

void doctor_child_free(struct doctor_child *child)
{
    free(child->output);
    free(child->errors);
}
