/* SPDX-License-Identifier: MIT */
/*
 * Text tables whose columns are as wide as their contents, with lines of a given width. If the
 * columns do not fit, optional ones are left out, and long entries of the first column get separate
 * lines. Control characters, and bytes that are not UTF-8, are printed as '?'.
 */
#ifndef QMPI_PROFILE_COLUMNS_H
#define QMPI_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { COLUMNS_MOST = 20 };

struct columns {
    int count;
    const char *align;    /* 'l' or 'r' for each column */
    const char *optional; /* NULL: none */
    struct columns_row *rows;
    size_t row_count, row_room;
    bool good; /* memory has not been exhausted */
};

/* Starts a table with one column per letter of `align` (at most COLUMNS_MOST). The string must stay
 * valid until the table is freed. */
void columns_start(struct columns *columns, const char *align);

/*
 * Sets which columns are left out if there is no room, with one character for each column. Those
 * with '1' are left out first, then those with '2', and so on; those with '.' are never left out.
 * Columns with the same digit are left out together. The string must stay valid until the table is
 * freed.
 */
void columns_set_optional(struct columns *columns, const char *optional);

/* Adds a cell to the current row; the last one completes the row. */
void columns_add(struct columns *columns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds several cells, for example headings; `texts` ends with NULL. */
void columns_add_all(struct columns *columns, const char *const *texts);

/* Adds a line of text after the last complete row. */
void columns_add_line(struct columns *columns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints and frees the table. Lines have at most `width` characters, unless a line of text or an
 * entry of the first column is longer, or the columns that are never left out do not fit. Prints
 * nothing and returns false if memory was exhausted. */
bool columns_print(struct columns *columns, FILE *stream, int width);

/* Frees the table. */
void columns_drop(struct columns *columns);

#endif
