/* SPDX-License-Identifier: MIT */
/*
 * A row of a CSV file: a set of cells by column, written when it is complete. Cells that were not
 * set are empty.
 */
#ifndef QMPI_PROFILE_CSV_ROW_H
#define QMPI_PROFILE_CSV_ROW_H

#include "profile/result.h"

#include <stdio.h>

/* The columns in their order. New ones go to the end: scripts may count. Figures (figures.h) that
 * are not among them follow. */
/* clang-format off */
#define COLUMNS(X) \
    X(table) X(region) X(name) X(text) X(rank) X(from) X(to) X(calls) \
    X(time_sum) X(time_mean) X(time_min) X(time_max) X(time_stddev) X(shortest) X(longest) \
    X(wait_sum) X(wait_mean) X(wait_min) X(wait_max) X(wait_stddev) X(sent) X(received) \
    X(at_least) X(messages) X(bytes) X(size) X(first) X(instances) X(opens) X(read) X(written) \
    X(ranks) X(entries) X(application) X(mpi) X(memory) X(since) X(useful) \
    X(value) X(time_min_rank) X(time_max_rank) X(wait_min_rank) X(wait_max_rank) \
    X(peer) X(path)
/* clang-format on */

#define COLUMN_NUMBER(NAME) COLUMN_##NAME,
enum column { COLUMNS(COLUMN_NUMBER) COLUMN_FIGURES };
enum { COLUMN_COUNT = COLUMN_FIGURES + PROFILE_FIGURE_COUNT };

struct row {
    FILE *stream;
    bool good; /* memory was never out */
    const char *texts[COLUMN_COUNT];
    char numbers[COLUMN_COUNT][32];
};

/* Writes a text as a cell, with quotes if it needs them. */
void csv_put_text(FILE *stream, const char *text);

void row_set_text(struct row *row, enum column column, const char *text);
void row_set_whole(struct row *row, enum column column, uint64_t value);
void row_set_number(struct row *row, enum column column, int value);
void row_set_real(struct row *row, enum column column, double value);

/* `first` is the column of the sum: COLUMN_time_sum or COLUMN_wait_sum. */
void row_set_spread(struct row *row, enum column first, const struct profile_spread *spread);
void row_set_calls(struct row *row, const struct profile_calls *calls);

/* Writes the row, and empties it. `table` is its first cell. */
void row_put(struct row *row, const char *table);

/* Writes the names of all columns. */
void row_put_names(struct row *row);

/* csv_callsites.c: writes the calls of functions by rank, call sites with their calls by rank and
 * waits, and calls in progress. */
void row_put_functions_by_rank(struct row *row, const struct profile_result *result);
void row_put_callsites(struct row *row, const struct profile_result *result);
void row_put_flights(struct row *row, const struct profile_result *result);

/* csv_windows.c: writes the rows of efficiency over time. */
void row_put_windows(struct row *row, const struct profile_result *result);

#endif
