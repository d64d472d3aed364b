/* SPDX-License-Identifier: MIT */
/* Writes a comparison to an open stream, which the caller checks for errors. The functions return
 * false if memory is exhausted. */
#ifndef QMPI_PROFILE_COMPARE_PRINT_H
#define QMPI_PROFILE_COMPARE_PRINT_H

#include "profile/comparison.h"
#include "profile/text.h"

#include <stdio.h>

enum { PROFILE_COMPARE_TEXT_MOST = 6 }; /* runs side by side */

/* The tables that text has (enum profile_section), besides the head. */
#define PROFILE_COMPARE_SECTIONS                                                                   \
    (PROFILE_FUNCTIONS | PROFILE_CALLSITES | PROFILE_WAITS | PROFILE_REGIONS | PROFILE_PROCESSES)

/*
 * Text: the head and the tables of `sections`, sorted by the amount of the change in `order`; calls
 * and bytes are only listed where they have changed. Unless `layout->top` is 0, leaves out changes
 * in time of less than PROFILE_COMPARE_LEAST of the base's elapsed time. At most
 * PROFILE_COMPARE_TEXT_MOST runs.
 */
#define PROFILE_COMPARE_LEAST 0.005
bool profile_print_comparison(FILE *stream, const struct profile_comparison *comparison,
                              unsigned sections, enum profile_sort order,
                              const struct profile_layout *layout);

/* JSON with the schema `qmpi-comparison/1`: see docs/run/profile.md. */
bool profile_print_comparison_json(FILE *stream, const struct profile_comparison *comparison);

/* CSV: a row for each figure of each thing in each run. */
bool profile_print_comparison_csv(FILE *stream, const struct profile_comparison *comparison);

#endif
