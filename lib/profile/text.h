/* SPDX-License-Identifier: MIT */
/*
 * A result as tables for people, at most 94 columns wide: 100 with the prefix of our messages.
 * Tables that would be empty are left out. Rows stand in the order of the result
 * (profile_result_sort in result.h), figures have three digits and a unit.
 */
#ifndef QMPI_PROFILE_TEXT_H
#define QMPI_PROFILE_TEXT_H

#include "profile/result.h"

#include <stdio.h>

enum profile_section {
    PROFILE_FUNCTIONS = 1 << 0,
    PROFILE_CALLSITES = 1 << 1,
    PROFILE_HISTOGRAMS = 1 << 2,
    PROFILE_MATRIX = 1 << 3,
    PROFILE_WAITS = 1 << 4,
    PROFILE_COMMUNICATORS = 1 << 5,
    PROFILE_FILES = 1 << 6,
    PROFILE_REGIONS = 1 << 7,
    PROFILE_PROCESSES = 1 << 8,
    PROFILE_FLIGHTS = 1 << 9,
    PROFILE_EVERYTHING = (1 << 10) - 1
};

/*
 * Writes all tables to a file (as profile_write_json), or, where `path` is NULL, to stderr through
 * qmpi_print. `top` is how many rows a table has at most; 0: all.
 */
bool profile_write_text(const struct profile_result *result, const char *path, int top,
                        char **problem);

/* The head and the tables of `sections`, onto an open stream, whose errors are the caller's to look
 * for. False: memory is out. */
bool profile_print_text(FILE *stream, const struct profile_result *result, unsigned sections,
                        int top);

#endif
