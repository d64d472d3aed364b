/* SPDX-License-Identifier: MIT */
/*
 * Folders of copies: making one, knowing one again, and removing it. Shared by the library, which
 * makes them, and by the program that removes what a process left behind. A folder is locked
 * (flock) for as long as its process or that program runs, so one that nobody holds is garbage.
 */
#ifndef QMPI_UTIL_DIRECTORY_H
#define QMPI_UTIL_DIRECTORY_H

#include <sys/types.h>

struct qmpi_folder {
    char *path;
    dev_t device;
    ino_t inode;
    int lock; /* the descriptor that holds the lock; -1: there is none, and nobody sweeps it */
};

/*
 * Makes a new folder called qmpi-XXXXXX in `root`, readable by this user alone. Returns 0, or errno
 * and nothing is left.
 */
int qmpi_folder_make(struct qmpi_folder *folder, const char *root);

/* Removes the folder and all that is in it, if it is still the same one at its path. */
void qmpi_folder_remove(const struct qmpi_folder *folder);

/* Removes the folders in `root` that processes of this user made on this machine and that no
 * process holds any more. */
void qmpi_folder_sweep(const char *root);

#endif
