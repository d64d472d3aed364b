/* SPDX-License-Identifier: MIT */
/* See liveness.h. */
#define _GNU_SOURCE
#include "job/liveness.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads when a process started, and whether all of its threads have ended. The name of the program,
 * in parentheses, may contain anything, so the members are counted from its end. */
static bool read_status(const char *path, uint64_t *start, bool *has_ended)
{
    char text[1024], state;
    long threads;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end,
                            ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%ld %*s %" SCNu64,
                            &state, &threads, start) != 3)
        return false;
    /* The first thread alone may have ended, by pthread_exit. */
    *has_ended = (state == 'Z' && threads <= 1) || state == 'X';
    return true;
}

/* Reads the status of the first thread, which has the start and the number of threads of the
 * process. An emulator replaces the status of the emulated process itself. */
static bool read_status_of(int64_t id, uint64_t *start, bool *has_ended)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%" PRId64 "/stat", id, id);
    return read_status(path, start, has_ended);
}

/* Times of other time namespaces, and process IDs of other PID namespaces, are others. */
static uint64_t find_host(void)
{
    struct stat namespace;
    const uint64_t host = qmpi_launcher_clock_number(false);
    if (!host || stat("/proc/self/ns/pid", &namespace) != 0)
        return 0;
    return (host ^ namespace.st_ino) * UINT64_C(1099511628211);
}

struct qmpi_liveness_process qmpi_liveness_self(void)
{
    struct qmpi_liveness_process self = {.host = find_host(), .id = getpid()};
    char path[64];
    bool has_ended;
    snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/stat", self.id);
    if (!read_status(path, &self.start, &has_ended))
        self.start = 0;
    return self;
}

/* Whether /proc describes this PID namespace, and this process is not restored from a checkpoint,
 * after which all processes have other starts. */
static bool can_compare_starts(const struct qmpi_liveness_process *self)
{
    uint64_t start;
    bool has_ended;
    return self->start && read_status_of(self->id, &start, &has_ended) && start == self->start;
}

bool qmpi_liveness_has_ended(const struct qmpi_liveness_process *self,
                             const struct qmpi_liveness_process *process)
{
    uint64_t start;
    bool has_ended;
    if (!process->host || process->host != self->host)
        return false;
    if (kill((pid_t)process->id, 0) != 0 && errno == ESRCH)
        return true;
    return process->start && can_compare_starts(self) &&
           read_status_of(process->id, &start, &has_ended) &&
           (has_ended || start != process->start);
}
