/* SPDX-License-Identifier: MIT */
/*
 * Prints a result as text tables. Empty tables are left out. Rows are in the order of the result
 * (profile_result_sort in result.h); figures have three digits and a unit.
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
    PROFILE_OVER_TIME = 1 << 10,
    PROFILE_EVERYTHING = (1 << 11) - 1
};

/* How tables are printed. */
struct profile_layout {
    int top;   /* the maximum number of rows; 0: all */
    int width; /* of a line, in characters; names may be longer */
};

/* Returns the width of the terminal to which a descriptor leads, but at least PROFILE_TEXT_WIDTH,
 * which is also that of files. */
enum { PROFILE_TEXT_WIDTH = 80 };
int profile_text_width(int descriptor);

/*
 * Writes all tables to a file, like profile_write_json, or to stderr by qmpi_print if `path` is
 * NULL. `top` is the maximum number of rows in a table; 0: all.
 */
bool profile_write_text(const struct profile_result *result, const char *path, int top,
                        char **problem);

/* Writes the head and the tables of `sections` to an open stream; the caller checks the stream for
 * errors. Returns false if memory is exhausted. */
bool profile_print_text(FILE *stream, const struct profile_result *result, unsigned sections,
                        const struct profile_layout *layout);

#endif
