/* SPDX-License-Identifier: MIT */
/* See atomic_file.h. */
#define _GNU_SOURCE
#include "profile/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void set_problem(char **problem, const char *path, const char *reason)
{
    if (asprintf(problem, "cannot write %s: %s", path, reason) < 0)
        *problem = NULL;
}

/* An existing file keeps its mode. -1: errno says why. */
static int open_temporary(const struct profile_output *output, const struct stat *existing)
{
    const int descriptor = open(
        output->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
    if (descriptor >= 0 && existing)
        (void)!fchmod(descriptor, existing->st_mode & 07777);
    return descriptor;
}

static int open_target(struct profile_output *output, const char *path)
{
    struct stat status;
    const bool exists = stat(path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        output->path = strdup(path);
        return output->path ? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) : -1;
    }
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (!output->path ||
        asprintf(&output->temporary, "%s.%ld.tmp", output->path, (long)getpid()) < 0) {
        output->temporary = NULL;
        return -1;
    }
    return open_temporary(output, exists ? &status : NULL);
}

/* A signal that is pending before is not ours to take away. */
static void hold_pipe_signal(struct profile_output *output)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    output->guarded =
        !sigismember(&pending, SIGPIPE) && pthread_sigmask(SIG_BLOCK, &pipe, &output->signals) == 0;
}

static void release_pipe_signal(struct profile_output *output)
{
    const struct timespec now = {0};
    sigset_t pipe;
    if (!output->guarded)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &output->signals, NULL);
}

bool profile_output_open(struct profile_output *output, const char *path, char **problem)
{
    memset(output, 0, sizeof *output);
    *problem = NULL;
    output->given = path;
    errno = 0;
    const int descriptor = open_target(output, path);
    output->stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!output->stream) {
        set_problem(problem, path, strerror(errno ? errno : ENOMEM));
        if (descriptor >= 0)
            close(descriptor);
        if (descriptor >= 0 && output->temporary)
            unlink(output->temporary);
        free(output->path);
        free(output->temporary);
        return false;
    }
    tool_numbers_begin(&output->numbers);
    hold_pipe_signal(output);
    errno = 0; /* from here on it is that of a write that failed */
    return true;
}

bool profile_output_close(struct profile_output *output, bool whole, char **problem)
{
    *problem = NULL;
    bool good = !ferror(output->stream);
    int reason = whole || !good ? errno : ENOMEM;
    if (good && fflush(output->stream) != 0) {
        good = false;
        reason = errno;
    }
    if (fclose(output->stream) != 0 && good) {
        good = false;
        reason = errno;
    }
    good = good && whole;
    if (good && output->temporary && rename(output->temporary, output->path) != 0) {
        good = false;
        reason = errno;
    }
    if (!good) {
        set_problem(problem, output->given, strerror(reason ? reason : EIO));
        if (output->temporary)
            unlink(output->temporary);
    }
    release_pipe_signal(output);
    tool_numbers_end(&output->numbers);
    free(output->path);
    free(output->temporary);
    return good;
}
