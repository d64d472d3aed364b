/* SPDX-License-Identifier: MIT */
/* `qmpi-helper write-log` writes the lines of a process that are in shared memory (ring.h). */
#ifndef LOG_WRITER_H
#define LOG_WRITER_H

/* Writes the lines until the process is gone. Returns the exit status of the program. */
int log_writer_run(void);

#endif
