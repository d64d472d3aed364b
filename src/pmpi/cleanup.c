/* SPDX-License-Identifier: MIT */
/*
 * The program qmpi-cleanup, which libqmpi starts when it has created a directory of copies. It
 * waits until that process has ended in any way, and removes the directory. When it starts, it
 * removes the directories of jobs whose qmpi-cleanup was killed with them.
 *
 *     qmpi-cleanup FOLDER DEVICE INODE
 *
 * Descriptor 0 becomes ready when the process is gone; descriptor 1 holds the lock of the
 * directory. It shares no environment, further descriptors, session or working directory with the
 * program.
 */
#define _GNU_SOURCE
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Blocks all signals, because they are meant for the program; qmpi-cleanup ends soon after the
 * program. */
static void detach_from_program(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    qmpi_spawn_close_from(STDERR_FILENO);
    (void)!open("/dev/null", O_RDWR);
    (void)!chdir("/");
    umask(077);
}

static void wait_for_program(void)
{
    struct pollfd gone = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&gone, 1, -1) < 0 && errno == EINTR)
        continue;
}

static bool read_number(const char *text, unsigned long long *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text && !*end && !errno;
}

int main(int argc, char **argv)
{
    unsigned long long device, inode;
    if (argc != 4 || argv[1][0] != '/' || !read_number(argv[2], &device) ||
        !read_number(argv[3], &inode))
        return 2;
    const struct qmpi_directory folder = {argv[1], (dev_t)device, (ino_t)inode, STDOUT_FILENO};
    char *root = strndup(argv[1], (size_t)(strrchr(argv[1], '/') + 1 - argv[1]));
    detach_from_program();
    if (root)
        qmpi_directory_sweep(root);
    wait_for_program();
    qmpi_directory_remove(&folder);
    free(root);
    return 0;
}
