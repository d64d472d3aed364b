/* SPDX-License-Identifier: MIT */
/*
 * A file that is there whole or not at all: written as PATH.PID.tmp in the same folder and renamed,
 * so that a copy of the process may write it, too. Devices, FIFOs and other targets that are no
 * regular files are written directly, a symbolic link stays one. Numbers have a decimal point
 * whatever the application's locale, and a pipe that nobody reads is an error here, not a signal
 * for the application.
 */
#ifndef QMPI_PROFILE_ATOMIC_FILE_H
#define QMPI_PROFILE_ATOMIC_FILE_H

#include "toolkit/locale_numbers.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct profile_output {
    FILE *stream;
    const char *given; /* the caller's path */
    char *path;        /* with symbolic links resolved */
    char *temporary;   /* NULL: written directly */
    struct tool_numbers numbers;
    bool guarded; /* whether SIGPIPE is held back */
    sigset_t signals;
};

/* Between the two: the same thread, and nothing but writing to `stream`; `path` must live on.
 * False: *problem is "cannot write PATH: reason", to be freed (NULL where memory is out); nothing
 * is to be closed. */
bool profile_output_open(struct profile_output *output, const char *path, char **problem);

/* Puts the file in its place. False as above, also where `whole` says that memory ran out while
 * writing, and nothing is left behind. */
bool profile_output_close(struct profile_output *output, bool whole, char **problem);

#endif
