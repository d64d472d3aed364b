/* SPDX-License-Identifier: MIT */
/*
 * The result of a profile (profile_result.h), what is computed from it, and how it is written: as
 * text, JSON, CSV and HTML.
 *
 * The functions profile_X_print write to an open stream, which the caller checks for errors. They
 * return false if memory is exhausted.
 *
 * The functions profile_X_write write a complete file, or none: see output.h. They may be called in
 * any thread, but not in a signal handler. On failure, they return false and set *problem to a
 * message that names the file, which the caller frees (NULL: out of memory).
 */
#ifndef QMPI_PROFILE_PROFILE_H
#define QMPI_PROFILE_PROFILE_H

#include "tools/profile/result/budget.h"
#include "tools/profile/result/compare.h"
#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/findings.h"
#include "tools/profile/result/merge.h"
#include "tools/profile/result/output.h"
#include "tools/profile/result/profile_result.h"
#include "tools/profile/result/units.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- Text ------------------------------------------------------------------------------------ */

/* Empty tables are left out, except that of functions. Rows are in the order of the result
 * (profile_result_sort), except that the waits for peers are sorted by time, and the matrix is
 * sorted by bytes. Times and sizes have three digits and a unit. */

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
    PROFILE_OUTSIDE = 1 << 11,
    PROFILE_EVERYTHING = (1 << 12) - 1
};

/* The size of tables. */
struct profile_layout {
    int top;   /* the maximum number of rows; 0: all */
    int width; /* of a line, in characters; names may be longer */
};

/* Returns the width of the terminal to which a descriptor leads, but at least PROFILE_TEXT_WIDTH,
 * which is also the width of files. */
enum { PROFILE_TEXT_WIDTH = 80 };
int profile_text_width(int descriptor);

/* Prints the head, the efficiency and the tables of `sections` (enum profile_section). */
bool profile_text_print(FILE *stream, const struct profile_result *result, unsigned sections,
                        const struct profile_layout *layout);

/* Writes all tables to a file, or to stderr by qmpi_print if `path` is NULL. `top` is the maximum
 * number of rows in a table; 0: all. */
bool profile_text_write(const struct profile_result *result, const char *path, int top,
                        char **problem);

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * The schema is `qmpi-profile/2`, or that of the file from which the result was read: see
 * docs/run/profile-reference.md and the schema file there. The tool writes its results in this
 * format, and `qmpi report` reads and writes them. Times keep 15 digits. Members that are not in
 * files (profile_result.h), and the ranks that are not listed (profile_rank_is_listed), are lost if
 * a result is written and read. In strings, invalid bytes are replaced by U+FFFD.
 */

bool profile_json_print(FILE *stream, const struct profile_result *result);

/* Does the same with `digits` significant digits for times, so that the times of a result that is
 * read from such a document are only approximate. */
bool profile_json_print_rounded(FILE *stream, const struct profile_result *result, int digits);

bool profile_json_write(const struct profile_result *result, const char *path, char **problem);

/*
 * Reads a file. Unknown members are ignored; missing members that are not optional, wrong types,
 * values out of range and newer schemas are errors. On failure, returns NULL and sets *problem to a
 * message with the place in the file, which the caller frees. Terminates the process if memory is
 * exhausted, so it is only for the command.
 */
struct profile_result *profile_json_read(const char *path, char **problem);

/* ---- CSV ------------------------------------------------------------------------------------- */

/*
 * All tables are in one file, and all rows have the same columns: the first one contains the name
 * of the table, and columns that do not apply are empty; docs/run/profile-reference.md lists them.
 * Quoting follows RFC 4180; lines end with a line feed.
 */

bool profile_csv_print(FILE *stream, const struct profile_result *result);

bool profile_csv_write(const struct profile_result *result, const char *path, char **problem);

/* ---- HTML ------------------------------------------------------------------------------------ */

/*
 * A page is one file that needs no network. What ran, the loss budget, the findings and the
 * efficiency are text; everything else is drawn by the script of the page (html/), from the
 * results, which the page contains as compressed JSON. Strings from results are escaped or in
 * base64, so that they cannot become a part of the page's markup.
 */

/* Returns whether pages can be written, that is, whether qmpi was built with zlib. Otherwise, the
 * functions below fail. */
bool profile_html_is_supported(void);

bool profile_html_print(FILE *stream, const struct profile_run *run);

bool profile_html_write(const struct profile_result *result, const char *path, char **problem);

/*
 * The scripts and styles of the page are large, and few runs write a page. Therefore, the tool does
 * not contain them, but opens the library PROFILE_HTML_FILE in its own folder when it needs them.
 * The function PROFILE_HTML_FUNCTION of this library returns profile_html_write, or NULL if pages
 * are not supported. The command itself contains the page.
 */
#define PROFILE_HTML_FILE "qmpi-html.module"
#define PROFILE_HTML_FUNCTION "profile_html_find_writer"
typedef bool profile_html_writer(const struct profile_result *result, const char *path,
                                 char **problem);
typedef profile_html_writer *profile_html_find(void);

/* ---- Comparisons ----------------------------------------------------------------------------- */

enum { PROFILE_COMPARE_TEXT_MOST = 6 }; /* runs side by side */

/* The tables of a comparison in text (enum profile_section), besides the head. */
#define PROFILE_COMPARE_SECTIONS                                                                   \
    (PROFILE_FUNCTIONS | PROFILE_CALLSITES | PROFILE_WAITS | PROFILE_REGIONS | PROFILE_PROCESSES)

/*
 * Prints the head and the tables of `sections` as text. Tables of times are sorted by name, if
 * `order` demands this, or by the change in the figure that `order` selects. If a table lacks this
 * figure, it is sorted by the change in time. The other tables list only entries whose figure has
 * changed, and are sorted by that change or by name. If `layout->top` is not 0, changes in time of
 * less than PROFILE_COMPARE_LEAST of the base's elapsed time are left out, unless the entry is new
 * or gone. There may be at most PROFILE_COMPARE_TEXT_MOST runs.
 */
#define PROFILE_COMPARE_LEAST 0.005
bool profile_compare_print_text(FILE *stream, const struct compare_result *comparison,
                                unsigned sections, enum profile_sort order,
                                const struct profile_layout *layout);

/* Prints JSON with the schema `qmpi-comparison/1`: see docs/run/profile-reference.md. */
bool profile_compare_print_json(FILE *stream, const struct compare_result *comparison);

/* Prints CSV: rows about the runs, the limits and the findings, then a row for each figure of each
 * entry in each run. */
bool profile_compare_print_csv(FILE *stream, const struct compare_result *comparison);

bool profile_compare_print_html(FILE *stream, const struct compare_result *comparison);

#endif
