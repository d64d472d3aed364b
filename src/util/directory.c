/* SPDX-License-Identifier: MIT */
/*
 * See directory.h. TMPDIR may be writable for other users. Therefore, symbolic links are not
 * followed, and a directory is removed only if its inode is known or it contains the right mark.
 * The mark is a line in the lock file, written once the lock is held. It contains the name of the
 * machine, because locks in a shared file system may be local to each machine, and the inode of the
 * directory, because a directory may be moved or copied.
 */
#define _GNU_SOURCE
#include "util/directory.h"

#include "util/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PREFIX "qmpi-"
#define LOCK "lock"

enum { MARK_SIZE = sizeof(((struct utsname *)NULL)->nodename) + 32 };

static int open_folder(int root, const char *name)
{
    return openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int write_mark(char *mark, ino_t inode)
{
    struct utsname machine;
    if (uname(&machine) != 0)
        return 0;
    return snprintf(mark, MARK_SIZE, "%s %llu\n", machine.nodename, (unsigned long long)inode);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int lock_folder(int folder, ino_t inode)
{
    char mark[MARK_SIZE];
    const int length = write_mark(mark, inode);
    const int made = openat(folder, LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const int lock = made < 0 ? -1 : qmpi_output_copy_descriptor(made);
    if (made >= 0)
        close(made);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && write(lock, mark, (size_t)length) > 0)
        return lock;
    if (lock >= 0)
        close(lock);
    unlinkat(folder, LOCK, 0);
    return -1;
}

int qmpi_directory_make(struct qmpi_directory *folder, const char *root)
{
    struct stat status;
    char *path;
    if (asprintf(&path, "%s/" PREFIX "XXXXXX", root) < 0)
        return ENOMEM;
    if (!mkdtemp(path)) {
        const int error = errno;
        free(path);
        return error;
    }
    const int made = open_folder(AT_FDCWD, path);
    if (made < 0 || fstat(made, &status) != 0) {
        const int error = errno;
        rmdir(path);
        free(path);
        if (made >= 0)
            close(made);
        return error;
    }
    *folder = (struct qmpi_directory){path, status.st_dev, status.st_ino, -1};
    folder->lock = lock_folder(made, status.st_ino);
    close(made);
    return 0;
}

/* ---- Removing -------------------------------------------------------------------------------- */

/* Removes the contents of a directory. At the top, the lock file is removed last, so that a later
 * sweep recognizes a directory that was only partly removed. Closes `folder`. */
static void empty_directory(int folder, bool top)
{
    DIR *entries = fdopendir(folder);
    const struct dirent *entry;
    if (!entries) {
        close(folder);
        return;
    }
    while ((entry = readdir(entries))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || (top && !strcmp(name, LOCK)) ||
            unlinkat(folder, name, 0) == 0)
            continue;
        const int inner = open_folder(folder, name);
        if (inner >= 0) {
            empty_directory(inner, false);
            unlinkat(folder, name, AT_REMOVEDIR);
        }
    }
    if (top)
        unlinkat(folder, LOCK, 0);
    closedir(entries);
}

static void remove_folder(int root, const char *name, int folder)
{
    empty_directory(folder, true);
    unlinkat(root, name, AT_REMOVEDIR);
}

void qmpi_directory_remove(const struct qmpi_directory *folder)
{
    struct stat status;
    const int found = open_folder(AT_FDCWD, folder->path);
    if (found < 0)
        return;
    if (fstat(found, &status) == 0 && status.st_dev == folder->device &&
        status.st_ino == folder->inode)
        remove_folder(AT_FDCWD, folder->path, found);
    else
        close(found);
}

/* ---- Sweeping -------------------------------------------------------------------------------- */

/* Returns whether a process of this user created the directory at this place on this machine. */
static bool is_marked(int lock, const struct stat *folder)
{
    char wanted[MARK_SIZE], found[MARK_SIZE];
    struct stat status;
    const ssize_t length = write_mark(wanted, folder->st_ino);
    return fstat(lock, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           length > 0 && pread(lock, found, sizeof found, 0) == length &&
           !memcmp(found, wanted, (size_t)length);
}

static void sweep_directory(int root, const char *name)
{
    struct stat status;
    const int folder = open_folder(root, name);
    if (folder < 0)
        return;
    const int lock = fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
                             (status.st_mode & (S_IRWXG | S_IRWXO)) == 0
                         ? openat(folder, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                         : -1;
    if (lock >= 0 && is_marked(lock, &status) && flock(lock, LOCK_EX | LOCK_NB) == 0)
        remove_folder(root, name, folder);
    else
        close(folder);
    if (lock >= 0)
        close(lock);
}

void qmpi_directory_sweep(const char *root)
{
    DIR *entries = opendir(root);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        if (!strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1))
            sweep_directory(dirfd(entries), entry->d_name);
    }
    if (entries)
        closedir(entries);
}
