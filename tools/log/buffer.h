/* SPDX-License-Identifier: MIT */
/*
 * Lines on their way to a file. A system call for each line would take most of the time that a line
 * costs, and lines that wait in the memory of the process would be lost with it: by SIGKILL, by
 * _exit (which some MPI libraries call for a fatal error), by exec. A thread that writes them would
 * be lost, too, and is not a thing to start in a program that may have none. Therefore, lines are
 * put into memory that is shared with a small program of ours (writer.c), which writes them: within
 * 100 ms, at once when a ring is half full, and all that are left as soon as the process is gone,
 * however it ends. The program runs detached: it is no child of the process, has nothing of it but
 * the file, and is not reached by the signals that are sent to its process group.
 *
 * Without that program (it cannot be started, or was killed), each line is written by a system call
 * again. So it is in a forked child, which shares the memory without being its owner: the memory is
 * its parent's.
 */
#ifndef QMPI_TOOL_LOG_BUFFER_H
#define QMPI_TOOL_LOG_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    struct shared *shared; /* NULL: there is none */
    int descriptor;
};

/* Starts the program at `arguments[0]`, which writes to `descriptor`. Where that fails there is no
 * buffer. */
void buffer_start(struct buffer *buffer, char *const *arguments, int descriptor);

/* Adds a line to a ring, which no other thread and no interrupted work uses. False: it must be
 * written by the caller, after buffer_flush. Safe in a signal handler. */
bool buffer_add(struct buffer *buffer, int ring, const char *bytes, size_t length);

/* Waits until all lines that were added are written; some seconds at most. Safe in a signal
 * handler. */
void buffer_flush(struct buffer *buffer);

#endif
