/* SPDX-License-Identifier: MIT */
/*
 * The directory of a trace. The contents of an existing directory are replaced if all of its files
 * have names of files of a trace, and qmpi has written that trace. No other file is removed.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_DIRECTORY_H
#define QMPI_TOOL_TRACE_SAVE_DIRECTORY_H

#include <stdbool.h>

/* Checks as far as possible whether a trace can be written to a directory. Returns NULL or a
 * message, which the caller frees. */
char *directory_check(const char *path);

/* The results of directory_prepare. */
enum directory_state {
    DIRECTORY_PREPARED,
    DIRECTORY_TAKEN, /* it contains the trace of another program of this run (toolkit/run.h) or a
                        trace that a program is writing, or another program is preparing it */
    DIRECTORY_FAILED
};

/* Creates the directory, or removes the trace of an earlier run from it. Sets `*lock` to a
 * descriptor that locks the directory, or to -1 if there is none. No other program prepares this
 * directory until the caller closes the descriptor, which it does once a file of this program
 * exists in the directory. Sets `*problem` to NULL or to a message, which the caller frees. */
enum directory_state directory_prepare(const char *path, int *lock, char **problem);

/* Returns whether the directory contains a file of a trace that a program of this run wrote before
 * this program began (tool_output_is_complete). */
bool directory_is_complete(const char *path);

/* Creates the directory if it does not exist, because it may have been created only on the node of
 * rank 0. */
void directory_make(const char *path);

#endif
