/* SPDX-License-Identifier: MIT */
/*
 * Lines of text in columns as wide as what stands in them, at most 94 characters in all: 100 with
 * the prefix of our messages. Where the first column would make lines longer, its long entries get
 * a line of their own. Control characters from names become '?'.
 */
#ifndef QMPI_PROFILE_COLUMNS_H
#define QMPI_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { COLUMNS_WIDTH = 94, COLUMNS_MOST = 16 };

struct columns {
    int count;
    const char *align; /* for each column 'l' or 'r' */
    struct columns_row *records;
    size_t row_count, row_space;
    bool good; /* memory was never out */
};

/* Starts a table of as many columns as `align` has letters (at most COLUMNS_MOST). */
void columns_start(struct columns *columns, const char *align);

/* The next cell of the current row; with the last one the row is complete. */
void columns_add(struct columns *columns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next cells of the current row, which `texts` ends with NULL: headings, say. */
void columns_add_all(struct columns *columns, const char *const *texts);

/* A line under the row that was completed last, as it is. */
void columns_note(struct columns *columns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints and frees all. False: memory was out, and nothing was printed. */
bool columns_print(struct columns *columns, FILE *stream);

/* Frees all. */
void columns_drop(struct columns *columns);

#endif
