/* SPDX-License-Identifier: MIT */
/* The tables that text.c puts one under another. Each prints a blank line, its title and its rows
 * (at most `top`, 0: all), or nothing where it has no rows. False: memory is out. */
#ifndef QMPI_PROFILE_TEXT_PARTS_H
#define QMPI_PROFILE_TEXT_PARTS_H

#include "profile/result.h"

#include <stdio.h>

/* text.c */
bool text_functions(FILE *stream, const struct profile_function *functions, size_t count, int top);

/* All of the functions' time, of which every table gives shares: more than the time in MPI while
 * the application runs, for that begins behind MPI_Init. */
double text_time(const struct profile_function *functions, size_t count);

/* text_parts.c */
bool text_callsites(FILE *stream, const struct profile_result *result, int top);
bool text_flights(FILE *stream, const struct profile_result *result, int top);
bool text_waits(FILE *stream, const struct profile_result *result, int top);
bool text_communicators(FILE *stream, const struct profile_result *result, int top);
bool text_files(FILE *stream, const struct profile_result *result, int top);
bool text_regions(FILE *stream, const struct profile_result *result, int top);
bool text_processes(FILE *stream, const struct profile_result *result, int top);

/* text_matrix.c: what is drawn rather than listed */
bool text_histograms(FILE *stream, const struct profile_result *result);
bool text_matrix(FILE *stream, const struct profile_result *result, int top);

/* How many of `count` rows are shown. */
size_t text_shown(size_t count, int top);

/* Says how many rows of `what` are not shown, if any. */
void text_rest(FILE *stream, size_t count, int top, const char *what);

#endif
