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
 * `descriptors` contains the descriptors of this process that become its descriptors 0, 1 and 2
 * (-1: none). Returns false if it cannot be started. Safe in a signal handler.
 */
bool qmpi_spawn_detached(char *const *arguments, const int *descriptors);

/*
 * Returns a descriptor for such a program that becomes ready when this process has ended, even if
 * the process has closed its descriptors before; -1: none. The caller closes it. Kernels before 5.3
 * have no descriptors for processes; there, it is one end of a pipe, whose other end stays open for
 * the run. Safe in a signal handler.
 */
int qmpi_spawn_end_of_process(void);

/*
 * Closes all descriptors of this process from `first` on, like closefrom, which glibc has only
 * since 2.34. Called when a program begins, because no other thread may open or close descriptors
 * meanwhile.
 */
void qmpi_spawn_close_from(int first);

#endif
