/* SPDX-License-Identifier: MIT */
/*
 * Creates, identifies and removes directories of library copies. libqmpi creates them, and the
 * cleanup program removes those of processes that have ended. A directory is locked (flock) while
 * its process or the cleanup program runs, so a directory whose lock nobody holds can be removed.
 */
#ifndef QMPI_UTIL_DIRECTORY_H
#define QMPI_UTIL_DIRECTORY_H

#include <sys/types.h>

struct qmpi_directory {
    char *path;
    dev_t device;
    ino_t inode;
    int lock; /* the descriptor that holds the lock; -1: there is no lock, and qmpi_directory_sweep
                 leaves the directory alone */
};

/*
 * Creates a new directory qmpi-XXXXXX in `root` that only this user can access. Returns 0, or the
 * error number if nothing was created. folder->path is allocated, and belongs to the caller.
 */
int qmpi_directory_make(struct qmpi_directory *folder, const char *root);

/* Removes the directory and its contents, if its path still leads to the same directory. */
void qmpi_directory_remove(const struct qmpi_directory *folder);

/* Removes the directories in `root` that processes of this user created on this machine, and whose
 * lock no process holds any longer. */
void qmpi_directory_sweep(const char *root);

#endif
