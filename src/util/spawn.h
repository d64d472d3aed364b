/* SPDX-License-Identifier: MIT */
/*
 * Starts a program that the current process does not notice: it is not a child that wait could
 * return or SIGCHLD could report.
 */
#ifndef QMPI_UTIL_SPAWN_H
#define QMPI_UTIL_SPAWN_H

#include <stdbool.h>

enum { QMPI_SPAWN_DESCRIPTORS = 3 };

/*
 * Runs the program at `arguments[0]` without an environment, all signals blocked, with three of
 * this process's descriptors (QMPI_SPAWN_DESCRIPTORS or more; -1: none) as its descriptors 0, 1
 * and 2. Returns false if it cannot be started. Safe in a signal handler.
 */
bool qmpi_spawn_detached(char *const *arguments, const int *descriptors);

/*
 * Returns a descriptor for such a program that becomes ready when this process is gone, whatever it
 * did with its own ones before; -1: none. The caller closes it. Kernels before 5.3 have none of the
 * process itself, but a pipe, whose other end stays open for the run. Safe in a signal handler.
 */
int qmpi_spawn_end_of_process(void);

/*
 * Closes all descriptors of this process from `first` on, like closefrom, which glibc has since
 * 2.34 only. For a program that begins: nobody else may open or close descriptors meanwhile.
 */
void qmpi_spawn_close_from(int first);

#endif
