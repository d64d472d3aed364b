/* SPDX-License-Identifier: MIT */
/*
 * Starts a program that is not a child of the current process, so that wait does not return it and
 * SIGCHLD does not report it.
 */
#ifndef QMPI_UTIL_SPAWN_H
#define QMPI_UTIL_SPAWN_H

#include <stdbool.h>

enum { QMPI_SPAWN_DESCRIPTORS = 3 };

/*
 * Runs the program at `arguments[0]` without an environment and with all signals blocked.
 * `arguments` ends with NULL.
 * `descriptors` contains the descriptors of this process that become descriptors 0, 1 and 2 of the
 * program, or -1 for a descriptor that it does not get. Returns false if the program cannot be
 * started. Async-signal-safe.
 */
bool qmpi_spawn_detached(char *const *arguments, const int *descriptors);

/*
 * Returns a descriptor that becomes ready when this process has ended, to be passed to such a
 * program, or -1 if there is none. The caller closes it. Usually, it becomes ready only then, even
 * if this process closes all its descriptors. On kernels before 5.3, which have no descriptors for
 * processes, it is one end of a pipe, and this process keeps the other end open; it then also
 * becomes ready when this process closes that end. Async-signal-safe.
 */
int qmpi_spawn_end_of_process(void);

/*
 * Closes all descriptors of this process from `first` on, like closefrom, which glibc has only
 * since 2.34. Must be called when a program begins, because no other thread may open or close
 * descriptors meanwhile.
 */
void qmpi_spawn_close_from(int first);

#endif
