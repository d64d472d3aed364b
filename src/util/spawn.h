/* SPDX-License-Identifier: MIT */
/*
 * Starts a program that the current process does not notice: it is not a child that wait could
 * return or SIGCHLD could report.
 */
#ifndef QMPI_UTIL_SPAWN_H
#define QMPI_UTIL_SPAWN_H

#include <stdbool.h>

/*
 * Runs the program at `arguments[0]` without an environment, all signals blocked, with `input` and
 * `output` (3 or more; -1: none) as its descriptors 0 and 1. Returns false if it cannot be started.
 */
bool qmpi_detached_start(char *const *arguments, int input, int output);

#endif
