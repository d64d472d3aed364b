/* SPDX-License-Identifier: MIT */
/* See csv_row.h. */
#include "profile/csv_row.h"

#include "profile/utf8.h"

#include <string.h>

#define COLUMN_NAME(NAME) #NAME,
static const char *const column_names[] = {COLUMNS(COLUMN_NAME)};

/* The column of a figure: one of the above, or one at the end. */
static int figure_column(int figure)
{
    int column = 0;
    while (column < COLUMN_FIGURES &&
           strcmp(column_names[column], profile_figures[figure].name) != 0)
        column++;
    return column < COLUMN_FIGURES ? column : COLUMN_FIGURES + figure;
}

static bool is_used(int column)
{
    return column < COLUMN_FIGURES || figure_column(column - COLUMN_FIGURES) == column;
}

void row_set_text(struct row *row, enum column column, const char *text)
{
    row->texts[column] = text ? text : "";
}

void row_set_whole(struct row *row, enum column column, uint64_t value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%llu", (unsigned long long)value);
    row->texts[column] = row->numbers[column];
}

void row_set_number(struct row *row, enum column column, int value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%d", value);
    row->texts[column] = row->numbers[column];
}

void row_set_real(struct row *row, enum column column, double value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%.15g", value);
    row->texts[column] = row->numbers[column];
}

/* RFC 4180, 2.6 and 2.7. */
void csv_put_text(FILE *stream, const char *text)
{
    const bool quotes = text[strcspn(text, ",\"\r\n")];
    if (quotes)
        putc('"', stream);
    while (*text) {
        const size_t length = utf8_length(text);
        if (*text == '"')
            putc('"', stream);
        if (length)
            fwrite(text, 1, length, stream);
        else
            fputs(UTF8_REPLACEMENT, stream);
        text += length ? length : 1;
    }
    if (quotes)
        putc('"', stream);
}

void row_put(struct row *row, const char *table)
{
    row->texts[COLUMN_table] = table;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!is_used(column))
            continue;
        if (column)
            putc(',', row->stream);
        csv_put_text(row->stream, row->texts[column] ? row->texts[column] : "");
        row->texts[column] = NULL;
    }
    putc('\n', row->stream);
}

/* `first` is the column of the sum; mean, min, max and stddev follow it. */
void row_set_spread(struct row *row, enum column first, const struct profile_spread *spread)
{
    const bool waits = first == COLUMN_wait_sum;
    const double values[] = {spread->sum, spread->mean, spread->min, spread->max, spread->stddev};
    for (int i = 0; i < 5; i++)
        row_set_real(row, (enum column)(first + i), values[i]);
    if (spread->min_rank >= 0)
        row_set_number(row, waits ? COLUMN_wait_min_rank : COLUMN_time_min_rank, spread->min_rank);
    if (spread->max_rank >= 0)
        row_set_number(row, waits ? COLUMN_wait_max_rank : COLUMN_time_max_rank, spread->max_rank);
}

void row_set_calls(struct row *row, const struct profile_calls *calls)
{
    row_set_whole(row, COLUMN_calls, calls->calls);
    row_set_spread(row, COLUMN_time_sum, &calls->time);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++)
        row_set_real(row, (enum column)figure_column(i), profile_figure_get(calls, i));
    if (calls->wait.sum > 0)
        row_set_spread(row, COLUMN_wait_sum, &calls->wait);
    row_set_whole(row, COLUMN_sent, calls->sent);
    row_set_whole(row, COLUMN_received, calls->received);
}

void row_put_names(struct row *row)
{
    memcpy(row->texts, column_names, sizeof column_names);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++)
        row->texts[figure_column(i)] = profile_figures[i].name;
    row_put(row, column_names[COLUMN_table]);
}
