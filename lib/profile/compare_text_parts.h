/* SPDX-License-Identifier: MIT */
/* The parts of the text of a comparison. The functions that print return false if memory is
 * exhausted. */
#ifndef QMPI_PROFILE_COMPARE_TEXT_PARTS_H
#define QMPI_PROFILE_COMPARE_TEXT_PARTS_H

#include "profile/comparison.h"
#include "profile/text_parts.h"

/* What is printed, where and how. */
struct compare_view {
    struct text text; /* without a result */
    const struct profile_comparison *comparison;
    enum profile_sort order;
};

/* Prints the tables of `sections`. In compare_text_tables.c. */
bool compare_print_tables(const struct compare_view *view, unsigned sections);

/* compare_columns.c: tables that have a column for each run, and for the differences and ratios
 * between later runs and the base. Runs have letters. */

/* Starts a table with its headings; `heading` is that of the first column. */
void compare_columns_start(struct columns *columns, const struct profile_comparison *comparison,
                           const char *heading);

/* Adds the values of a figure of an entry, and whether the entry is new or gone. The name must have
 * been added. */
void compare_columns_add(struct columns *columns, const struct profile_comparison *comparison,
                         const struct compare_entry *entry, int figure, enum compare_unit unit);

#endif
