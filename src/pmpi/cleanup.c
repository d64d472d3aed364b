/* SPDX-License-Identifier: MIT */
/*
 * The program qmpi-cleanup, which libqmpi starts when it has made a directory of copies: it waits
 * for the end of that process, however that comes, and removes the directory. Meanwhile it holds
 * the directory's lock too, and removes what jobs left behind whose clean-up was killed with them.
 *
 *     qmpi-cleanup FOLDER DEVICE INODE
 *
 * Descriptor 0 becomes ready when the process is gone; descriptor 1 holds the lock. It has nothing
 * of the program's: no environment, no further descriptors, neither its session nor its directory.
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

/* The program's signals are not meant for it. It ends by itself soon after the program. */
static void detach(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    closefrom(STDERR_FILENO);
    (void)!open("/dev/null", O_RDWR);
    (void)!chdir("/");
    umask(077);
}

static void wait_for_end(void)
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
    const struct qmpi_folder folder = {argv[1], (dev_t)device, (ino_t)inode, STDOUT_FILENO};
    char *root = strndup(argv[1], (size_t)(strrchr(argv[1], '/') + 1 - argv[1]));
    detach();
    if (root)
        qmpi_folder_sweep(root);
    wait_for_end();
    qmpi_folder_remove(&folder);
    free(root);
    return 0;
}
