/* SPDX-License-Identifier: MIT */
/* The tables of text.c. Each function prints a blank line, the title and the rows, or nothing if
 * the table is empty. They return false if memory is exhausted. */
#ifndef QMPI_PROFILE_TEXT_PARTS_H
#define QMPI_PROFILE_TEXT_PARTS_H

#include "profile/result.h"

#include <stdio.h>

struct columns;

/* What is printed, where and how. */
struct text {
    FILE *stream;
    const struct profile_result *result;
    int top;   /* the maximum number of rows; 0: all */
    int width; /* of a line */
};

/* Returns how many of `count` rows are printed. */
size_t text_shown(const struct text *text, size_t count);

/* Prints the number of rows that are left out, if any. */
void text_rest(const struct text *text, size_t count, const char *what);

/* Adds a share of the application time of all ranks, the total of all percentages. */
void text_add_share(struct columns *columns, const struct text *text, double time);

/* The same for calls of a function: MPI_Init has none, because it is not in the application time.
 */
bool text_has_share(const char *function);
void text_add_share_of(struct columns *columns, const struct text *text, const char *function,
                       double time);

/* Adds minimum and maximum, each followed by its rank. */
void text_add_extremes(struct columns *columns, const struct profile_spread *spread);

/* Adds a line for each frame. In text_callsites.c. */
void text_note_frames(struct columns *columns, const struct text *text,
                      const struct profile_frame *frames, int count);

/* text_head.c: what is before the tables */
bool text_head(const struct text *text);
bool text_efficiency(const struct text *text);

/* text_functions.c: the table of some functions, and that of the run with its title and notes */
bool text_functions(const struct text *text, const struct profile_function *functions,
                    size_t count);
bool text_all_functions(const struct text *text);

/* text_findings.c */
bool text_findings(const struct text *text);

/* text_callsites.c */
bool text_callsites(const struct text *text);
bool text_flights(const struct text *text);
bool text_peer_waits(const struct text *text);

/* text_parts.c */
bool text_waits(const struct text *text);
bool text_communicators(const struct text *text);
bool text_files(const struct text *text);
bool text_regions(const struct text *text);
bool text_processes(const struct text *text);

/* text_windows.c. `briefly`: one line if the efficiency hardly varies, nothing for a very short
 * run.
 */
bool text_windows(const struct text *text, bool briefly);

/* text_matrix.c: tables that are drawn */
bool text_histograms(const struct text *text);
bool text_matrix(const struct text *text);

#endif
