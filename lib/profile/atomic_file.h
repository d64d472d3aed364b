/* SPDX-License-Identifier: MIT */
/*
 * A file that appears complete or not at all: it is written as PATH.PID.tmp in the same directory
 * and renamed, so that a copy of the process may also write it. Devices, FIFOs and other targets
 * that are not regular files are written directly; symbolic links are preserved. Numbers have a
 * decimal point in any locale of the application. A pipe without a reader causes an error, not a
 * signal for the application.
 */
#ifndef QMPI_PROFILE_ATOMIC_FILE_H
#define QMPI_PROFILE_ATOMIC_FILE_H

#include "toolkit/toolkit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct profile_output {
    FILE *stream;
    const char *given; /* the path given by the caller */
    char *path;        /* with symbolic links resolved */
    char *temporary;   /* NULL: written directly */
    struct tool_numbers numbers;
    bool guarded; /* whether SIGPIPE is blocked */
    sigset_t signals;
};

/* Opens a file. Until it is closed, the same thread may only write to `stream`; `path` must stay
 * valid. On failure, returns false and sets *problem to "cannot write PATH: reason", which the
 * caller frees (NULL: out of memory); the file must not be closed then. */
bool profile_output_open(struct profile_output *output, const char *path, char **problem);

/* Closes and renames the file. If `whole` is false, memory was exhausted while writing. Fails as
 * above, also in this case, and leaves nothing behind. */
bool profile_output_close(struct profile_output *output, bool whole, char **problem);

#endif
