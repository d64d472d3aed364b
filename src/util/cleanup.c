/* SPDX-License-Identifier: MIT */
/*
 * libqmpi starts this program when it has created a directory of library copies. The cleanup
 * program waits until the process with libqmpi has ended in any way, and then removes the
 * directory. When it starts, it also removes directories of earlier runs in which the process and
 * its cleanup program were both killed.
 *
 *     qmpi-helper cleanup FOLDER DEVICE INODE
 *
 * Descriptor 0 becomes ready when the process with libqmpi has ended. Descriptor 1 holds the lock
 * of the directory. The cleanup program shares no environment, session, working directory or
 * further descriptors with that process.
 */
#define _GNU_SOURCE
#include "util/cleanup.h"

#include "util/directory.h"
#include "util/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Blocks all signals, because they are meant for the observed program. The cleanup program ends
 * soon after it. */
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

static bool parse_number(const char *text, unsigned long long *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text && !*end && !errno;
}

int qmpi_cleanup_run(int count, char **arguments)
{
    unsigned long long device, inode;
    if (count != 3 || arguments[0][0] != '/' || !parse_number(arguments[1], &device) ||
        !parse_number(arguments[2], &inode))
        return 2;
    const struct qmpi_directory folder = {arguments[0], (dev_t)device, (ino_t)inode, STDOUT_FILENO};
    char *root = strndup(arguments[0], (size_t)(strrchr(arguments[0], '/') + 1 - arguments[0]));
    detach_from_program();
    if (root)
        qmpi_directory_sweep(root);
    wait_for_program();
    qmpi_directory_remove(&folder);
    free(root);
    return 0;
}
