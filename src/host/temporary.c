/* SPDX-License-Identifier: MIT */
/*
 * See temporary.h. The folder is removed by a destructor at a normal end. A rank that is killed (as
 * the others of a job that aborts are) cannot do that, so a shell waits at the end of a pipe that
 * closes when this process is gone, however it went.
 */
#define _GNU_SOURCE
#include "temporary.h"

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder;
static pid_t owner; /* a forked child must not take the folder away from its parent */
static int files;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

__attribute__((destructor)) static void remove_folder(void)
{
    if (folder && owner == getpid())
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/*
 * Orphaned at once, so that the program has no child that it does not know. Returns the end of a
 * pipe: a line with the folder goes in, and when this process is gone the folder is removed. -1:
 * there is no janitor.
 */
static int start_janitor(void)
{
    static char script[] =
        "exec 3<&0; (trap '' HUP INT TERM; IFS= read -r folder <&3 || exit; read -r gone <&3; "
        "rm -rf -- \"$folder\") </dev/null >/dev/null 2>&1 &";
    char *const arguments[] = {"sh", "-c", script, NULL};
    char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    bool started = false;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t shell;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawn(&shell, "/bin/sh", &actions, &attributes, arguments, environment) == 0) {
        while (waitpid(shell, NULL, 0) < 0 && errno == EINTR)
            continue;
        started = true;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (!started)
        close(ends[1]);
    return started ? ends[1] : -1;
}

static bool make_folder(char **problem)
{
    if (folder)
        return true;
    const char *root = secure_getenv("TMPDIR");
    const int janitor = start_janitor(); /* first: a process can be killed at any moment */
    char *made = qmpi_format("%s/qmpi-XXXXXX", root && *root ? root : "/tmp");
    if (!mkdtemp(made)) {
        *problem = qmpi_message("a second layer of a PMPI tool needs a copy of its library, but no "
                                "folder can be made in %s: %s\nmend: set TMPDIR",
                                root && *root ? root : "/tmp", strerror(errno));
        free(made);
        return false;
    }
    folder = made;
    owner = getpid();
    if (janitor >= 0)
        dprintf(janitor, "%s\n", folder);
    return true;
}

char *qmpi_temporary_file(const char *name, int *descriptor, char **problem)
{
    if (!make_folder(problem))
        return NULL;
    char *own = qmpi_format("%s/%d", folder, ++files);
    char *path = qmpi_format("%s/%s", own, name);
    *descriptor = -1;
    if (mkdir(own, 0700) == 0)
        *descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (*descriptor < 0) {
        *problem = qmpi_message("%s cannot be made: %s\nmend: set TMPDIR to a folder with room",
                                path, strerror(errno));
        free(path);
        path = NULL;
    }
    free(own);
    return path;
}
