/* SPDX-License-Identifier: MIT */
/*
 * The file that a result is written to: its format, and the way it is written. A regular file is
 * written as PATH.PID.tmp in the same directory, and then renamed. Therefore it appears complete or
 * not at all, even if a copy of the process writes it, too. Devices, FIFOs and other targets that
 * are not regular files are written directly; symbolic links are preserved. Numbers have a decimal
 * point in any locale of the application. A pipe without a reader or a limit on the size of files
 * causes an error, not a signal for the application: see util/output.h.
 */
#ifndef QMPI_PROFILE_OUTPUT_H
#define QMPI_PROFILE_OUTPUT_H

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdio.h>

enum profile_output_format { PROFILE_TEXT, PROFILE_JSON, PROFILE_CSV, PROFILE_HTML };

/* The names of the formats, followed by NULL. */
extern const char *const profile_output_format_names[];

/* Returns the format that the suffix of a file's name selects (.json, .csv or .html). For other
 * names, and for NULL, this is text. */
enum profile_output_format profile_output_format_of(const char *path);

struct profile_output {
    FILE *stream;
    const char *given; /* the path given by the caller */
    char *path;        /* the same; symbolic links to an existing regular file are resolved */
    char *temporary;   /* NULL: written directly */
    bool is_new;       /* there was no such file */
    struct qmpi_value_numbers numbers;
    struct qmpi_output file;
};

/* Opens a file. Until it is closed, numbers in the calling thread have a decimal point
 * (qmpi_value_begin_numbers), so this thread must not run code of the application, and `path` must
 * stay valid. On failure, returns false and sets *problem to "cannot write PATH: reason", which the
 * caller frees (NULL: out of memory); the file must not be closed then. */
bool profile_output_open(struct profile_output *output, const char *path, char **problem);

/* Closes and renames the file. If `whole` is false, memory was exhausted while writing, and the
 * function fails. On failure, it sets *problem as above, and leaves no temporary file behind. errno
 * is EEXIST if no such file existed before and another process has created it meanwhile. */
bool profile_output_close(struct profile_output *output, bool whole, char **problem);

#endif
