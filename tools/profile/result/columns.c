/* SPDX-License-Identifier: MIT */
/* See columns.h. */
#define _GNU_SOURCE
#include "tools/profile/result/columns.h"

#include "util/util.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct columns_row {
    char *fields[COLUMNS_MOST]; /* in a line of text (`is_note`), only the first one is used */
    int filled;
    bool is_note;
};

void columns_start(struct columns *columns, const char *align)
{
    *columns = (struct columns){.count = (int)strlen(align), .align = align, .good = true};
}

void columns_set_optional(struct columns *columns, const char *optional)
{
    columns->optional = optional;
}

/* Names come from the program or the command line. Line breaks, control characters and bytes that
 * are not UTF-8 must not reach the terminal. */
static void make_printable(char *text)
{
    for (size_t length; *text; text += length) {
        length = qmpi_text_character_length(text);
        const bool is_shown = length && (unsigned char)*text >= ' ' && !qmpi_text_is_control(text);
        length = length ? length : 1;
        if (!is_shown)
            memset(text, '?', length);
    }
}

static struct columns_row *add_row(struct columns *columns)
{
    if (!QMPI_MEMORY_RESERVE(columns->rows, columns->row_room, columns->row_count + 1)) {
        columns->good = false;
        return NULL;
    }
    struct columns_row *row = &columns->rows[columns->row_count++];
    memset(row, 0, sizeof *row);
    return row;
}

static struct columns_row *current_row(struct columns *columns)
{
    struct columns_row *row = columns->row_count ? &columns->rows[columns->row_count - 1] : NULL;
    return row && !row->is_note && row->filled < columns->count ? row : add_row(columns);
}

static void set_field(struct columns *columns, struct columns_row *row, const char *format,
                      va_list list)
{
    char *text;
    if (!row)
        return;
    if (vasprintf(&text, format, list) < 0) {
        columns->good = false;
        text = NULL;
    } else {
        make_printable(text);
    }
    row->fields[row->filled++] = text;
}

void columns_add(struct columns *columns, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    set_field(columns, current_row(columns), format, list);
    va_end(list);
}

void columns_add_all(struct columns *columns, const char *const *texts)
{
    for (; *texts; texts++)
        columns_add(columns, "%s", *texts);
}

void columns_add_line(struct columns *columns, const char *format, ...)
{
    struct columns_row *row = add_row(columns);
    va_list list;
    if (row)
        row->is_note = true;
    va_start(list, format);
    set_field(columns, row, format, list);
    va_end(list);
}

/* Returns the number of characters. */
static int text_width(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* Returns the width of a line whose first column has `first` characters. Columns of width 0 are
 * left out. */
static int line_width(const struct columns *columns, const int widths[COLUMNS_MOST], int first,
                      int gap)
{
    int total = first;
    for (int column = 1; column < columns->count; column++)
        total += widths[column] ? gap + widths[column] : 0;
    return total;
}

static void drop_columns(const struct columns *columns, int widths[COLUMNS_MOST], char which)
{
    for (int column = 0; column < columns->count; column++) {
        if (columns->optional[column] == which)
            widths[column] = 0;
    }
}

/* Sets the widths of the columns, 0 for those that are left out. Returns the number of blanks
 * between two columns: two if there is room, otherwise one. */
static int measure_columns(const struct columns *columns, int widths[COLUMNS_MOST], int line)
{
    enum { LEAST = 14 }; /* the first column is not made narrower: most names of functions fit */
    memset(widths, 0, COLUMNS_MOST * sizeof *widths);
    for (size_t i = 0; i < columns->row_count; i++) {
        const struct columns_row *row = &columns->rows[i];
        for (int column = 0; column < row->filled && !row->is_note; column++) {
            const int needed = text_width(row->fields[column]);
            widths[column] = needed > widths[column] ? needed : widths[column];
        }
    }
    const int least = widths[0] < LEAST ? widths[0] : LEAST;
    for (char which = '1'; columns->optional && which <= '9'; which++) {
        if (line_width(columns, widths, least, 1) <= line)
            break;
        drop_columns(columns, widths, which);
    }
    const int left = line - line_width(columns, widths, 0, 1);
    if (widths[0] > left)
        widths[0] = left > least ? left : least;
    return line_width(columns, widths, widths[0], 2) <= line ? 2 : 1;
}

static void print_row(const struct columns *columns, const struct columns_row *row,
                      const int widths[COLUMNS_MOST], int gap, FILE *stream)
{
    /* Blanks are printed only before the next text, so that no line ends with blanks. */
    int blanks = 0;
    for (int column = 0; column < row->filled; column++) {
        const char *text = row->fields[column];
        if (!widths[column])
            continue;
        const int free = widths[column] - text_width(text);
        const int before = columns->align[column] == 'r' && free > 0 ? free : 0;
        if (*text) {
            fprintf(stream, "%*s%s", blanks + before, "", text);
            blanks = free - before;
        } else {
            blanks += free;
        }
        if (blanks < 0) { /* only the first column is ever too narrow */
            fputc('\n', stream);
            blanks = widths[column];
        }
        blanks += gap;
    }
    fputc('\n', stream);
}

bool columns_print(struct columns *columns, FILE *stream, int width)
{
    const bool good = columns->good;
    int widths[COLUMNS_MOST];
    const int gap = good ? measure_columns(columns, widths, width) : 0;
    for (size_t i = 0; i < columns->row_count && good; i++) {
        const struct columns_row *row = &columns->rows[i];
        if (row->is_note)
            fprintf(stream, "%s\n", row->fields[0]);
        else
            print_row(columns, row, widths, gap, stream);
    }
    columns_drop(columns);
    return good;
}

void columns_drop(struct columns *columns)
{
    for (size_t i = 0; i < columns->row_count; i++) {
        for (int column = 0; column < columns->rows[i].filled; column++)
            free(columns->rows[i].fields[column]);
    }
    free(columns->rows);
    columns->rows = NULL;
    columns->row_count = columns->row_room = 0;
}
