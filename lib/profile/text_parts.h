/* SPDX-License-Identifier: MIT */
/* The tables of text.c. Each function prints a blank line, the title and at most `top` rows (0:
 * all), or nothing if the table is empty. They return false if memory is exhausted. */
#ifndef QMPI_PROFILE_TEXT_PARTS_H
#define QMPI_PROFILE_TEXT_PARTS_H

#include "profile/result.h"

#include <stdio.h>

/* text.c */

/* Adds minimum and maximum, each followed by its rank. */
struct columns;
void text_add_extremes(struct columns *columns, const struct profile_spread *spread);

bool text_functions(FILE *stream, const struct profile_function *functions, size_t count, int top);

/* Returns the total time of all functions, of which tables print shares. It is more than the time
 * in MPI while the application runs, which starts after MPI_Init. */
double text_time(const struct profile_function *functions, size_t count);

/* text_parts.c */
bool text_callsites(FILE *stream, const struct profile_result *result, int top);
bool text_flights(FILE *stream, const struct profile_result *result, int top);
bool text_waits(FILE *stream, const struct profile_result *result, int top);
bool text_communicators(FILE *stream, const struct profile_result *result, int top);
bool text_files(FILE *stream, const struct profile_result *result, int top);
bool text_regions(FILE *stream, const struct profile_result *result, int top);
bool text_processes(FILE *stream, const struct profile_result *result, int top);

/* text_matrix.c: tables that are drawn */
bool text_histograms(FILE *stream, const struct profile_result *result);
bool text_matrix(FILE *stream, const struct profile_result *result, int top);

/* Returns how many of `count` rows are printed. */
size_t text_shown(size_t count, int top);

/* Prints the number of rows that are left out, if any. */
void text_rest(FILE *stream, size_t count, int top, const char *what);

#endif
