/* SPDX-License-Identifier: MIT */
/*
 * Writes a result as CSV, with all tables in one file. All rows have the same columns: the first
 * one contains the name of the table, and columns that do not apply are empty; docs/run/profile.md
 * lists them. Quoting follows RFC 4180; lines end with a line feed.
 */
#ifndef QMPI_PROFILE_CSV_H
#define QMPI_PROFILE_CSV_H

#include "profile/result.h"

#include <stdio.h>

/* Like profile_write_json, in CSV. */
bool profile_write_csv(const struct profile_result *result, const char *path, char **problem);

/* Writes to an open stream; the caller checks the stream for errors. Returns false if memory is
 * exhausted. */
bool profile_print_csv(FILE *stream, const struct profile_result *result);

#endif
