/* SPDX-License-Identifier: MIT */
/* See output.h. */
#define _GNU_SOURCE
#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Signals --------------------------------------------------------------------------------- */

enum { SIGNALS = 2 };
static const int numbers[SIGNALS] = {SIGPIPE, SIGXFSZ};

static sigset_t make_set(unsigned bits)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++) {
        if (bits & 1u << i)
            sigaddset(&set, numbers[i]);
    }
    return set;
}

/* A signal that was pending before was sent to the program, and stays pending. */
void qmpi_output_signals_block(struct qmpi_output_signals *signals)
{
    const int error = errno;
    const sigset_t both = make_set(~0u);
    sigset_t pending, before;
    sigemptyset(&pending);
    sigpending(&pending);
    *signals = (struct qmpi_output_signals){0, 0};
    if (pthread_sigmask(SIG_BLOCK, &both, &before) == 0) {
        for (int i = 0; i < SIGNALS; i++) {
            signals->held |= sigismember(&pending, numbers[i]) ? 0 : 1u << i;
            signals->unblocks |= sigismember(&before, numbers[i]) ? 0 : 1u << i;
        }
    }
    errno = error;
}

static void remove_raised(const struct qmpi_output_signals *signals)
{
    const struct timespec now = {0};
    const sigset_t held = make_set(signals->held);
    int taken;
    do {
        taken = sigtimedwait(&held, NULL, &now);
    } while (taken > 0 || (taken < 0 && errno == EINTR));
}

static void unblock(const struct qmpi_output_signals *signals)
{
    const sigset_t unblocked = make_set(signals->unblocks);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
}

void qmpi_output_signals_restore(const struct qmpi_output_signals *signals)
{
    const int error = errno;
    remove_raised(signals);
    unblock(signals);
    errno = error;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int64_t milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Waits until a non-blocking descriptor can be written again, for at most `patience`
 * milliseconds. */
static bool wait_for_room(int descriptor, int patience)
{
    const int64_t end = milliseconds() + patience;
    for (;;) {
        struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
        const int64_t left = end - milliseconds();
        const int found = poll(&ready, 1, left > 0 ? (int)left : 0);
        if (found > 0)
            return true;
        if (found == 0 || errno != EINTR)
            return false;
    }
}

/* Writes with signals blocked, and adds to *written. Returns 0 or errno. */
static int write_blocked(int descriptor, const char *bytes, size_t length, size_t *written,
                         int patience)
{
    for (size_t done = 0; done < length;) {
        const ssize_t part = write(descriptor, bytes + done, length - done);
        if (part > 0) {
            done += (size_t)part;
            *written += (size_t)part;
        } else if (part == 0) {
            return EIO;
        } else if (errno == EAGAIN) {
            if (!wait_for_room(descriptor, patience))
                return EAGAIN;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int write_all(int descriptor, const char *bytes, size_t length, size_t *written,
                     int patience)
{
    struct qmpi_output_signals signals;
    qmpi_output_signals_block(&signals);
    const int error = write_blocked(descriptor, bytes, length, written, patience);
    if (error == EPIPE || error == EFBIG)
        remove_raised(&signals);
    unblock(&signals);
    return error;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

enum {
    FIRST = STDERR_FILENO + 1, /* the first number that does not belong to a standard stream */
    HIGH = 1024,               /* programs that use select need lower numbers */
    MORE = 64,                 /* how much a limit on descriptors is raised when it is reached */
    FEW = 64                   /* a program with a lower limit needs each of its descriptors */
};

/* Returns the lowest number for descriptors of libqmpi. The upper sixteenth of the numbers that the
 * program may use begins there. Numbers from HIGH on do not count. */
static int lowest_high(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return FIRST;
    const int end = limit.rlim_cur < HIGH ? (int)limit.rlim_cur : HIGH;
    return end - end / 16 > FIRST ? end - end / 16 : FIRST;
}

int qmpi_output_copy_descriptor(int descriptor)
{
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_high());
    return copy >= 0 ? copy : fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST);
}

int qmpi_output_move_descriptor(int descriptor)
{
    const int error = errno;
    const int moved = qmpi_output_copy_descriptor(descriptor);
    if (moved < 0 && descriptor >= FIRST)
        return descriptor;
    const int problem = moved < 0 ? errno : error;
    close(descriptor);
    errno = problem;
    return moved;
}

void qmpi_output_room_make(struct qmpi_output_room *room)
{
    struct rlimit more;
    room->is_raised = false;
    if (getrlimit(RLIMIT_NOFILE, &room->before) || room->before.rlim_cur >= room->before.rlim_max)
        return;
    more = room->before;
    more.rlim_cur =
        more.rlim_max - more.rlim_cur > MORE ? more.rlim_cur + MORE : room->before.rlim_max;
    room->is_raised = setrlimit(RLIMIT_NOFILE, &more) == 0;
}

void qmpi_output_room_end(const struct qmpi_output_room *room)
{
    if (room->is_raised)
        setrlimit(RLIMIT_NOFILE, &room->before);
}

static int open_above(const char *path, int flags, mode_t mode)
{
    struct qmpi_output_room room;
    int descriptor = open(path, flags, mode);
    if (descriptor < 0 && errno == EMFILE) {
        qmpi_output_room_make(&room);
        descriptor = open(path, flags, mode);
        const int error = errno;
        qmpi_output_room_end(&room);
        errno = error;
    }
    return descriptor;
}

int qmpi_output_open_descriptor(const char *path, int flags, mode_t mode)
{
    return open_above(path, flags | O_CLOEXEC, mode);
}

static int open_output(const char *path, int flags, mode_t mode)
{
    const int descriptor = open_above(path, flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, mode);
    return descriptor < 0 ? -1 : qmpi_output_move_descriptor(descriptor);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_same(int descriptor, dev_t device, ino_t inode)
{
    struct stat status;
    return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device &&
           status.st_ino == inode;
}

int qmpi_output_open(struct qmpi_output *output, const char *path, int flags, mode_t mode)
{
    struct stat status;
    *output = (struct qmpi_output){.path = path, .descriptor = -1};
    output->flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC);
    const int descriptor = open_output(path, flags, mode);
    if (descriptor < 0)
        return errno;
    if (fstat(descriptor, &status)) {
        const int error = errno;
        close(descriptor);
        return error;
    }
    output->type = status.st_mode & S_IFMT;
    output->device = status.st_dev;
    output->inode = status.st_ino;
    __atomic_store_n(&output->descriptor, descriptor, __ATOMIC_RELEASE);
    return 0;
}

char *qmpi_output_full_path(const char *path)
{
    char *here = *path == '/' ? NULL : getcwd(NULL, 0), *full = NULL;
    if (!here)
        return strdup(path);
    if (asprintf(&full, "%s/%s", here, path) < 0)
        full = NULL;
    free(here);
    return full;
}

void qmpi_output_set_path(struct qmpi_output *output, const char *path)
{
    __atomic_store_n(&output->path, path, __ATOMIC_RELEASE);
}

/* Opens a file again. If another thread does so first, returns the descriptor of that thread.
 * `lost` is the previous descriptor, which is closed or belongs to another file of the program
 * now. */
static int open_again(struct qmpi_output *output, int lost)
{
    const char *path = __atomic_load_n(&output->path, __ATOMIC_ACQUIRE);
    if (output->type != S_IFREG && output->type != S_IFCHR) {
        errno = EBADF;
        return -1;
    }
    const int descriptor = open_output(path, output->flags, 0);
    if (descriptor < 0)
        return -1;
    const bool is_it = is_same(descriptor, output->device, output->inode);
    if (is_it && output->type == S_IFREG)
        lseek(descriptor, 0, SEEK_END);
    if (is_it && __atomic_compare_exchange_n(&output->descriptor, &lost, descriptor, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return descriptor;
    close(descriptor);
    errno = ESTALE;
    return is_it ? lost : -1;
}

bool qmpi_output_is(const struct qmpi_output *output, int descriptor)
{
    return is_same(descriptor, output->device, output->inode);
}

int qmpi_output_descriptor(struct qmpi_output *output)
{
    const int descriptor = __atomic_load_n(&output->descriptor, __ATOMIC_ACQUIRE);
    if (is_same(descriptor, output->device, output->inode))
        return descriptor;
    if (descriptor >= 0)
        return open_again(output, descriptor);
    errno = EBADF;
    return -1;
}

int qmpi_output_write(struct qmpi_output *output, const void *bytes, size_t length)
{
    size_t written = 0;
    const int descriptor = qmpi_output_descriptor(output);
    return descriptor < 0 ? errno
                          : write_all(descriptor, bytes, length, &written, QMPI_OUTPUT_PATIENCE);
}

int qmpi_output_close(struct qmpi_output *output)
{
    const int descriptor = __atomic_exchange_n(&output->descriptor, -1, __ATOMIC_ACQ_REL);
    if (!is_same(descriptor, output->device, output->inode) || close(descriptor) == 0 ||
        errno == EINTR)
        return 0;
    return errno;
}

static ssize_t write_stream(void *data, const char *bytes, size_t length)
{
    struct qmpi_output *output = data;
    const int error = qmpi_output_write(output, bytes, length);
    if (!error)
        return (ssize_t)length;
    if (!output->error)
        output->error = error;
    errno = error;
    return 0;
}

static int close_stream(void *data)
{
    struct qmpi_output *output = data;
    const int error = qmpi_output_close(output);
    if (!output->error)
        output->error = error;
    errno = error;
    return error ? EOF : 0;
}

FILE *qmpi_output_stream(struct qmpi_output *output)
{
    static const cookie_io_functions_t functions = {.write = write_stream, .close = close_stream};
    return fopencookie(output, "w", functions);
}

/* ---- stdout and stderr ----------------------------------------------------------------------- */

static struct standard {
    /* at the start of the process; UNKNOWN: the process does not have libqmpi */
    enum { UNKNOWN, OPEN, CLOSED } state;
    int duplicate; /* 0: none. Stored with release once it is open; a thread that closes it
                      exchanges it */
    bool is_slow;  /* the reader has not read for a long time; relaxed order, because this is only a
                      hint */
    dev_t device;
    ino_t inode;
} standards[FIRST];

static bool is_noted; /* whether this copy of the code has recorded the streams */

void qmpi_output_standard_note(bool duplicates)
{
    const int error = errno;
    for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++) {
        struct stat status;
        struct standard *standard = &standards[i];
        standard->state = fstat(i, &status) ? CLOSED : OPEN;
        if (standard->state == OPEN) {
            standard->device = status.st_dev;
            standard->inode = status.st_ino;
        }
    }
    is_noted = true;
    errno = error;
    if (duplicates)
        qmpi_output_standard_duplicate();
}

static bool is_of(const struct standard *standard, int descriptor)
{
    return is_same(descriptor, standard->device, standard->inode);
}

static void after_fork_in_child(void)
{
    struct standard *standard = &standards[STDERR_FILENO];
    const int duplicate = __atomic_exchange_n(&standard->duplicate, 0, __ATOMIC_ACQ_REL);
    if (duplicate && is_of(standard, duplicate))
        close(duplicate);
}

void qmpi_output_standard_duplicate(void)
{
    struct standard *standard = &standards[STDERR_FILENO];
    const int error = errno;
    struct rlimit limit;
    const bool is_useful = standard->state == OPEN && !standard->duplicate &&
                           is_of(standard, STDERR_FILENO) && !getrlimit(RLIMIT_NOFILE, &limit) &&
                           limit.rlim_cur >= FEW;
    const int duplicate = is_useful ? qmpi_output_copy_descriptor(STDERR_FILENO) : -1;
    if (duplicate >= 0 && pthread_atfork(NULL, NULL, after_fork_in_child) == 0)
        __atomic_store_n(&standard->duplicate, duplicate, __ATOMIC_RELEASE);
    else if (duplicate >= 0)
        close(duplicate);
    errno = error;
}

/* Returns a descriptor of a standard stream: its own number, or its duplicate if the program has
 * closed that number or uses it for another file. Returns -1 if there is neither, or if
 * the stream was closed when the process started. */
static int find_standard(const struct standard *standard, int descriptor)
{
    const int duplicate = __atomic_load_n(&standard->duplicate, __ATOMIC_ACQUIRE);
    if (standard->state == CLOSED)
        return -1;
    if (standard->state == UNKNOWN || is_of(standard, descriptor))
        return descriptor;
    return duplicate && is_of(standard, duplicate) ? duplicate : -1;
}

size_t qmpi_output_standard_write_here(int descriptor, const void *bytes, size_t length)
{
    size_t written = 0;
    const int error = errno;
    if (descriptor != STDOUT_FILENO && descriptor != STDERR_FILENO)
        return 0;
    struct standard *standard = &standards[descriptor];
    const int found = find_standard(standard, descriptor);
    if (found >= 0) {
        const bool is_slow = __atomic_load_n(&standard->is_slow, __ATOMIC_RELAXED);
        const int problem =
            write_all(found, bytes, length, &written, is_slow ? 0 : QMPI_OUTPUT_PATIENCE);
        if (!problem || problem == EAGAIN)
            __atomic_store_n(&standard->is_slow, problem == EAGAIN, __ATOMIC_RELAXED);
    }
    errno = error;
    return written;
}

/* In the library of a tool, this refers to the function of libqmpi. It is weak, because a process
 * without libqmpi has no such function. */
extern size_t QMPIX_Standard_write(int descriptor, const void *bytes, size_t length)
    __attribute__((weak, visibility("default")));

size_t qmpi_output_standard_write(int descriptor, const void *bytes, size_t length)
{
    if (!is_noted && QMPIX_Standard_write)
        return QMPIX_Standard_write(descriptor, bytes, length);
    return qmpi_output_standard_write_here(descriptor, bytes, length);
}
