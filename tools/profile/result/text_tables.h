/* SPDX-License-Identifier: MIT */
/*
 * The tables of the text, and the parts that text.c and compare_text.c share. A function that
 * prints a table prints a blank line, the title and the rows, or nothing if the table is empty
 * (text_functions then says so). It returns false if memory is exhausted.
 */
#ifndef QMPI_PROFILE_TEXT_TABLES_H
#define QMPI_PROFILE_TEXT_TABLES_H

#include "tools/profile/result/profile_result.h"

#include <stdio.h>

struct columns;

struct text {
    FILE *stream;
    const struct profile_result *result;
    int top;   /* the maximum number of rows; 0: all */
    int width; /* of a line */
};

/* ---- Parts of tables ------------------------------------------------------------------------- */

/* Returns how many of `count` rows are printed. */
size_t text_shown(const struct text *text, size_t count);

/* Prints how many of `count` rows are left out, if any; `what` is a noun in the plural. */
void text_rest(const struct text *text, size_t count, const char *what);

/* Adds `time` as a percentage of the application time of all ranks. */
void text_add_share(struct columns *columns, const struct text *text, double time);

/* Does the same for calls of a function. MPI_Init and MPI_Init_thread get "-", because their time
 * is not part of the application time. */
void text_add_share_of(struct columns *columns, const struct text *text, const char *function,
                       double time);

/* Adds minimum and maximum, each followed by its rank. */
void text_add_extremes(struct columns *columns, const struct profile_spread *spread);

/* Adds a line for each frame. */
void text_add_frames(struct columns *columns, const struct text *text,
                     const struct profile_frame *frames, int count);

/* Returns the number of bytes of the whole words that fit into `room` bytes, or `room` if the first
 * word is longer. */
size_t text_fit_words(const char *words, int room);

/* Adds words in lines of the width. `prefix` begins the first line. The other lines begin with
 * three spaces, unless `prefix` is empty. */
void text_add_wrapped(struct columns *lines, const char *words, int width, const char *prefix);

/* ---- Tables ---------------------------------------------------------------------------------- */

bool text_functions(const struct text *text);
bool text_flights(const struct text *text);

/* The time outside MPI between calls. A brief table has few rows. */
bool text_outside(const struct text *text, bool briefly);
bool text_peer_waits(const struct text *text);
bool text_waits(const struct text *text);

/* Sizes have scales of powers of two, because message sizes and the bytes between two ranks differ
 * by orders of magnitude. */
bool text_histograms(const struct text *text);
bool text_matrix(const struct text *text);
bool text_communicators(const struct text *text);
bool text_files(const struct text *text);
bool text_regions(const struct text *text);
bool text_processes(const struct text *text);

#endif
