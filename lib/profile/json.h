/* SPDX-License-Identifier: MIT */
/*
 * A result as JSON, with the schema `qmpi-profile/2` (see docs/run/profile.md and the schema file
 * there). The tool writes it at the end of a run, and `qmpi report` reads it. A result that is
 * written and read is unchanged: times keep 15 digits.
 */
#ifndef QMPI_PROFILE_JSON_H
#define QMPI_PROFILE_JSON_H

#include "profile/result.h"

#include <stdio.h>

/*
 * Writes a complete file, or none: see atomic_file.h. In strings, invalid bytes are replaced by
 * U+FFFD. May be called in any thread, but not in a signal handler.
 *
 * On failure, returns false and sets *problem to a message that names the file, which the caller
 * frees (NULL: out of memory).
 */
bool profile_write_json(const struct profile_result *result, const char *path, char **problem);

/* Writes to an open stream; the caller checks the stream for errors. Returns false if memory is
 * exhausted. */
bool profile_print_json(FILE *stream, const struct profile_result *result);

/* The same with this many significant digits, which cannot be read as the same result. */
bool profile_print_json_rounded(FILE *file, const struct profile_result *result, int digits);

/*
 * Reads a file. Unknown members are ignored; missing members, wrong types, values out of range and
 * newer schemas are errors. On failure, returns NULL and sets *problem to a message with the place
 * in the file, which the caller frees. Terminates the process if memory is exhausted, so it is only
 * for the command.
 */
struct profile_result *profile_read_json(const char *path, char **problem);

#endif
