/* SPDX-License-Identifier: MIT */
/* `qmpi-helper cleanup` removes a directory of library copies when the process that uses them has
 * ended. */
#ifndef QMPI_UTIL_CLEANUP_H
#define QMPI_UTIL_CLEANUP_H

/* Does this for the directory that the arguments describe (see cleanup.c). Returns the exit status
 * of the program. */
int qmpi_cleanup_run(int count, char **arguments);

#endif
