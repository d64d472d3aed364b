/* SPDX-License-Identifier: MIT */
/* See sink.h. */
#define _GNU_SOURCE
#include "sink.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CLOSED, OPENING, OPEN };

/* Two ranks must not write one file; the program may go to another directory before the first call.
 */
static char *find_path(int tool_id, const char *pattern, int rank)
{
    char *name = tool_file_name(pattern, tool_id, rank < 0 ? 0 : rank);
    if (!name)
        return NULL;
    char *folder = *name == '/' ? NULL : getcwd(NULL, 0);
    const bool is_shared = rank >= 0 && !tool_file_name_is_per_process(pattern);
    char *path = qmpi_format("%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    if (is_shared && !tool_file_name_is_special(path)) {
        char *rank_name = qmpi_format("%s.%d", path, rank);
        free(path);
        path = rank_name;
    }
    free(folder);
    free(name);
    return path;
}

void sink_make(struct sink *sink, int tool_id, const char *pattern, int rank)
{
    sink->tool_id = tool_id;
    sink->path = pattern ? find_path(tool_id, pattern, rank) : NULL;
    sink->descriptor = STDERR_FILENO;
}

bool sink_is_stderr(const struct sink *sink)
{
    return !sink->path || (atomic_load(&sink->state) == OPEN && sink->descriptor == STDERR_FILENO);
}

static void open_file(struct sink *sink, bool may_print)
{
    struct stat status;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
    const int descriptor = sink->path ? open(sink->path, flags, 0666) : -1;
    if (descriptor >= 0)
        sink->descriptor = descriptor;
    else if (sink->path && may_print)
        qmpi_printf("log (layer %d): cannot write %s: %s\n  writing its lines to stderr instead\n"
                    "  hint: use output=FILE to name a file that can be written",
                    sink->tool_id, sink->path, strerror(errno));
    sink->is_pipe =
        !fstat(sink->descriptor, &status) && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* False: in the handler of a fault in a thread that is opening it. Other signals wait meanwhile:
 * their handlers may call MPI. */
static bool is_open(struct sink *sink, bool may_print)
{
    int state = atomic_load_explicit(&sink->state, memory_order_acquire);
    if (state == OPEN)
        return true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (state == CLOSED && atomic_compare_exchange_strong(&sink->state, &state, OPENING)) {
        open_file(sink, may_print);
        atomic_store(&sink->state, state = OPEN);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (state == OPENING && may_print) {
        sched_yield();
        state = atomic_load(&sink->state);
    }
    return state == OPEN;
}

static void write_all(int descriptor, const char *bytes, size_t length)
{
    while (length) {
        const ssize_t written = write(descriptor, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = descriptor, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* A pipe without a reader must not terminate the program; a signal that is pending before is not
 * ours to take away. */
static void write_to_pipe(int descriptor, const char *bytes, size_t length)
{
    const struct timespec now = {0};
    sigset_t pipe, pending, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    const bool guarded =
        !sigismember(&pending, SIGPIPE) && !pthread_sigmask(SIG_BLOCK, &pipe, &before);
    errno = 0;
    write_all(descriptor, bytes, length);
    if (!guarded)
        return;
    while (errno == EPIPE && sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
        errno = EPIPE;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print)
{
    if (!is_open(sink, may_print))
        return;
    if (sink->is_pipe)
        write_to_pipe(sink->descriptor, bytes, length);
    else
        write_all(sink->descriptor, bytes, length);
}
