/* SPDX-License-Identifier: MIT */
/*
 * The state of the process when it was started. The stack is built at the first MPI call; by then,
 * the program may have changed its directory or cleared its environment.
 */
#ifndef QMPI_UTIL_START_H
#define QMPI_UTIL_START_H

#include <stdbool.h>

/* The variables that contain the middle part of the stack (config/stack.h), in the order of
 * precedence: the first one that is set counts, even if it is empty. This is the order in which
 * MPICH reads its three. */
enum { QMPI_START_VARIABLES = 4 };
extern const char *const qmpi_start_variables[QMPI_START_VARIABLES];

/*
 * Returns the path that `path` meant when the process was started: a relative path refers to the
 * current directory of that time. If the process is still in this directory, or the directory was
 * not recorded (start.c), the path is returned unchanged. The caller frees the result.
 */
char *qmpi_start_path(const char *path);

/*
 * Returns whether a variable that defines a stack was set when the process was started, but no such
 * variable is set now. Sets *name to the first variable that was set. Sets *reports to what
 * qmpi_launcher_reports returned at that time: whether this process prints messages for its job.
 * The program may also have removed the variable with its rank since then.
 */
bool qmpi_start_lost_stack(const char **name, bool *reports);

#endif
