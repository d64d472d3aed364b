/* SPDX-License-Identifier: MIT */
/* Prints a comparison of two results as text. */
#ifndef QMPI_PROFILE_COMPARE_H
#define QMPI_PROFILE_COMPARE_H

#include "profile/result.h"
#include "profile/text.h"

#include <stdio.h>

/* A result and its name, the file. */
struct profile_named {
    const char *name;
    const struct profile_result *result;
};

/*
 * Prints time, calls and bytes, per function and in total: of `a`, of `b`, the difference b - a and
 * the ratio b / a. Functions are sorted by the amount of the difference in `order`; each table
 * lists at most `layout->top` of them. Returns false if memory is exhausted.
 */
bool profile_print_comparison(FILE *stream, struct profile_named a, struct profile_named b,
                              enum profile_sort order, const struct profile_layout *layout);

#endif
