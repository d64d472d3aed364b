/* SPDX-License-Identifier: MIT */
/*
 * The directory of a trace. An existing directory is replaced if it contains only files of a trace.
 * No other file is ever removed.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_DIRECTORY_H
#define QMPI_TOOL_TRACE_SAVE_DIRECTORY_H

#include <stdbool.h>

/* Checks whether a trace can be written there, as far as possible. Returns NULL, or the message,
 * which the caller frees. */
char *directory_check(const char *path);

/* The result of directory_prepare. */
enum directory_state {
    DIRECTORY_PREPARED,
    DIRECTORY_TAKEN, /* it contains the trace of another program of this run (toolkit/run.h), or one
                        that a program is writing */
    DIRECTORY_FAILED
};

/* Creates the directory, or removes the trace of an earlier run that is in it. The caller closes
 * `*lock` when a file of this program is there: until then, no other program prepares this
 * directory. -1: there is none. Sets `*problem` to NULL, or to the message, which the caller frees.
 */
enum directory_state directory_prepare(const char *path, int *lock, char **problem);

/* Whether it contains the trace of a program of this run that ended before this process began. */
bool directory_is_complete(const char *path);

/* Creates the directory if it does not exist: on another node, it may be another one. */
void directory_make(const char *path);

#endif
