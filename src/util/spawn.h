/* SPDX-License-Identifier: MIT */
/*
 * Starts a program beside the present one, which must not notice: it is no child that wait could
 * return or SIGCHLD tell of.
 */
#ifndef QMPI_UTIL_SPAWN_H
#define QMPI_UTIL_SPAWN_H

#include <stdbool.h>

/*
 * Runs the program at `arguments[0]` without an environment, all signals blocked, with `input` and
 * `output` (3 or more; -1: none) as its descriptors 0 and 1. False: it cannot be started.
 */
bool qmpi_detached_start(char *const *arguments, int input, int output);

#endif
