/* SPDX-License-Identifier: MIT */
/* Two results side by side, as text. */
#ifndef QMPI_PROFILE_COMPARE_H
#define QMPI_PROFILE_COMPARE_H

#include "profile/result.h"

#include <stdio.h>

/* A result and what it is called: its file. */
struct profile_named {
    const char *name;
    const struct profile_result *result;
};

/*
 * Prints time, calls and bytes per function and in all: of `a`, of `b`, the difference b - a and
 * the ratio b / a. Functions stand in `order`, by the size of the difference; a table has at most
 * `top` of them (0: all). False: memory is out.
 */
bool profile_print_comparison(FILE *stream, struct profile_named a, struct profile_named b,
                              enum profile_sort order, int top);

#endif
