/* SPDX-License-Identifier: MIT */
/*
 * How the process was started. The stack is built at the first MPI call; until then, the program
 * may have changed its directory, or cleared its environment.
 */
#ifndef QMPI_UTIL_START_H
#define QMPI_UTIL_START_H

#include <stdbool.h>

/*
 * Returns `path` as it was meant when the process was started: a relative one is relative to the
 * directory of then. If the process is still in this directory, the path is returned unchanged. The
 * caller frees the result.
 */
char *qmpi_start_path(const char *path);

/*
 * Whether a variable that gives a stack was set when the process was started, but no such variable
 * is set now: *name is the first one. *reports: whether this process printed messages for its job
 * then; the program may have removed its rank, too.
 */
bool qmpi_start_lost_stack(const char **name, bool *reports);

#endif
