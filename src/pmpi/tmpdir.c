/* SPDX-License-Identifier: MIT */
/*
 * See tmpdir.h. The directory is removed by a destructor at a normal end. A rank that is killed (as
 * the others of a job that aborts are) cannot do that, so a program of ours (cleanup.c) waits for
 * its end. Without that program all goes on; what is left then, the next one of this user sweeps.
 */
#define _GNU_SOURCE
#include "pmpi/tmpdir.h"

#include "process/process.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct qmpi_folder folder; /* path NULL: it is not made yet */
static pid_t owner;               /* a forked child must not take it away from its parent */
static int files;

__attribute__((destructor)) static void remove_folder(void)
{
    if (folder.path && owner == getpid())
        qmpi_folder_remove(&folder);
}

/* A relative one would mean another directory wherever the program goes. */
static const char *root_folder(void)
{
    const char *root = secure_getenv("TMPDIR");
    return root && *root == '/' ? root : "/tmp";
}

static void start_cleanup(void)
{
    const int end = qmpi_end_of_process();
    const int descriptors[] = {end, folder.lock, -1};
    char *program = qmpi_format("%s/qmpi-cleanup", qmpi_installed_folder());
    char *device = qmpi_format("%llu", (unsigned long long)folder.device);
    char *inode = qmpi_format("%llu", (unsigned long long)folder.inode);
    char *const arguments[] = {program, folder.path, device, inode, NULL};
    if (end < 0 || !qmpi_detached_start(arguments, descriptors))
        qmpi_debug(QMPI_TOPIC_LOAD, "cannot start %s: if this process is killed, %s is not removed",
                   program, folder.path);
    if (end >= 0)
        close(end);
    free(program);
    free(device);
    free(inode);
}

static bool make_folder(char **problem)
{
    if (folder.path)
        return true;
    const char *root = root_folder();
    const int error = qmpi_folder_make(&folder, root);
    if (error) {
        *problem =
            qmpi_message("a library must be copied, but no directory can be created in %s: %s\n"
                         "hint: set TMPDIR to a directory that you can write to",
                         root, strerror(error));
        return false;
    }
    owner = getpid();
    start_cleanup();
    return true;
}

char *qmpi_temporary_file(const char *name, int *descriptor, char **problem)
{
    if (!make_folder(problem))
        return NULL;
    char *file_name = qmpi_format("%s/%d", folder.path, ++files);
    char *path = qmpi_format("%s/%s", file_name, name);
    *descriptor = -1;
    if (mkdir(file_name, 0700) == 0)
        *descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (*descriptor < 0) {
        *problem = qmpi_message("cannot create %s: %s\n"
                                "hint: set TMPDIR to a directory with free space",
                                path, strerror(errno));
        free(path);
        path = NULL;
    }
    free(file_name);
    return path;
}
