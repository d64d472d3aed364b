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

/* Of `state`; any other is the process in which a thread is opening it. */
enum { CLOSED = 0, OPEN = -1 };

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
    sink->writer = sink->path ? tool_companion_file("qmpi-log-writer") : NULL;
    sink->descriptor = STDERR_FILENO;
}

bool sink_is_stderr(const struct sink *sink)
{
    return !sink->path || (atomic_load(&sink->state) == OPEN && sink->descriptor == STDERR_FILENO);
}

/* Lines on a terminal or in a pipe are expected at once. */
static bool may_wait(const struct sink *sink, mode_t mode)
{
    return S_ISREG(mode) || (S_ISCHR(mode) && !isatty(sink->descriptor));
}

static void open_file(struct sink *sink, bool may_print)
{
    struct stat status = {0};
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
    const int descriptor = sink->path ? open(sink->path, flags, 0666) : -1;
    if (descriptor >= 0)
        sink->descriptor = descriptor;
    else if (sink->path && may_print)
        qmpi_printf("log (layer %d): cannot write %s: %s\n  writing its lines to stderr instead\n"
                    "  hint: use output=FILE to name a file that can be written",
                    sink->tool_id, sink->path, strerror(errno));
    fstat(sink->descriptor, &status);
    sink->is_pipe = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    char *const arguments[] = {sink->writer, sink->path, NULL};
    if (descriptor >= 0 && may_print && sink->writer && may_wait(sink, status.st_mode))
        buffer_start(&sink->buffer, arguments, descriptor);
}

/* False: in the handler of a fault in a thread that is opening it. Other signals wait meanwhile:
 * their handlers may call MPI. A thread of the parent is not in a forked child. */
static bool is_open(struct sink *sink, bool may_print)
{
    int state = atomic_load_explicit(&sink->state, memory_order_acquire);
    if (state == OPEN)
        return true;
    const int process = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (state != process && atomic_compare_exchange_strong(&sink->state, &state, process)) {
        open_file(sink, may_print);
        atomic_store(&sink->state, state = OPEN);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (state != OPEN && may_print) {
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

static void write_now(struct sink *sink, const char *bytes, size_t length)
{
    buffer_flush(&sink->buffer);
    if (sink->is_pipe)
        write_to_pipe(sink->descriptor, bytes, length);
    else
        write_all(sink->descriptor, bytes, length);
}

void sink_add(struct sink *sink, int ring, const char *bytes, size_t length)
{
    if (is_open(sink, true) && !buffer_add(&sink->buffer, ring, bytes, length))
        write_now(sink, bytes, length);
}

void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print)
{
    if (is_open(sink, may_print))
        write_now(sink, bytes, length);
}

void sink_flush(struct sink *sink)
{
    if (atomic_load(&sink->state) == OPEN)
        buffer_flush(&sink->buffer);
}
