/* SPDX-License-Identifier: MIT */
/*
 * Starts a program that the current process does not notice: it is not a child that wait could
 * return or SIGCHLD could report.
 */
#ifndef QMPI_UTIL_SPAWN_H
#define QMPI_UTIL_SPAWN_H

#include <stdbool.h>

enum { QMPI_DETACHED_DESCRIPTORS = 3 };

/*
 * Runs the program at `arguments[0]` without an environment, all signals blocked, with three of
 * this process's descriptors (QMPI_DETACHED_DESCRIPTORS or more; -1: none) as its descriptors 0, 1
 * and 2. Returns false if it cannot be started. Safe in a signal handler.
 */
bool qmpi_detached_start(char *const *arguments, const int *descriptors);

/*
 * Returns a descriptor for such a program that becomes ready when this process is gone, whatever it
 * did with its own ones before; -1: none. The caller closes it. Kernels before 5.3 have none of the
 * process itself, but a pipe, whose other end stays open for the run. Safe in a signal handler.
 */
int qmpi_end_of_process(void);

#endif
