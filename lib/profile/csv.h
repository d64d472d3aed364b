/* SPDX-License-Identifier: MIT */
/*
 * A result as CSV: one file for all tables. Every row has the same columns, the first one names the
 * table that the row belongs to, and columns that mean nothing there are empty; docs/run/profile.md
 * has the list. Quoting as in RFC 4180; lines end with a line feed.
 */
#ifndef QMPI_PROFILE_CSV_H
#define QMPI_PROFILE_CSV_H

#include "profile/result.h"

#include <stdio.h>

/* As profile_write_json, in CSV. */
bool profile_write_csv(const struct profile_result *result, const char *path, char **problem);

/* Onto an open stream, whose errors are the caller's to look for. False: memory is out. */
bool profile_print_csv(FILE *stream, const struct profile_result *result);

#endif
