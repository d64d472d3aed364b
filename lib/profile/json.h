/* SPDX-License-Identifier: MIT */
/*
 * A result as JSON, schema `qmpi-profile/2`: docs/run/profile.md, and the schema beside it. The
 * tool writes it, at the end of a run; `qmpi report` reads it back. What is written and read again
 * is the same result: times keep 15 digits.
 */
#ifndef QMPI_PROFILE_JSON_H
#define QMPI_PROFILE_JSON_H

#include "profile/result.h"

#include <stdio.h>

/*
 * Writes a whole file, or none: see atomic_file.h for how. Strings that are no UTF-8 get U+FFFD for
 * every byte that does not belong. Safe in any thread; not in a signal handler.
 *
 * False: *problem says what failed and in which file (to be freed; NULL where memory is out).
 */
bool profile_write_json(const struct profile_result *result, const char *path, char **problem);

/* Onto an open stream, whose errors are the caller's to look for. False: memory is out. */
bool profile_print_json(FILE *stream, const struct profile_result *result);

/*
 * Reads a file. Members that it does not know are ignored; what is missing, of another type or out
 * of range is a problem, and so is a newer schema. NULL: *problem says what was expected, where in
 * the file (to be freed). Ends the process where memory is out: for the command only.
 */
struct profile_result *profile_read_json(const char *path, char **problem);

#endif
