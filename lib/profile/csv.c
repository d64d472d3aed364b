/* SPDX-License-Identifier: MIT */
/* See csv.h. A row is a set of cells by column; it is written when it is complete. */
#define _GNU_SOURCE
#include "profile/csv.h"

#include "profile/atomic_file.h"
#include "profile/efficiency.h"
#include "profile/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns in their order. New ones go to the end: scripts may count. Figures (figures.h) that
 * are not among them follow. */
/* clang-format off */
#define COLUMNS(X) \
    X(table) X(region) X(name) X(text) X(rank) X(from) X(to) X(calls) \
    X(time_sum) X(time_mean) X(time_min) X(time_max) X(time_stddev) X(shortest) X(longest) \
    X(wait_sum) X(wait_mean) X(wait_min) X(wait_max) X(wait_stddev) X(sent) X(received) \
    X(at_least) X(messages) X(bytes) X(size) X(first) X(instances) X(opens) X(read) X(written) \
    X(ranks) X(entries) X(application) X(mpi) X(memory) X(since) X(useful) \
    X(value)
/* clang-format on */

#define COLUMN_NUMBER(NAME) COLUMN_##NAME,
enum column { COLUMNS(COLUMN_NUMBER) COLUMN_FIGURES };
enum { COLUMN_COUNT = COLUMN_FIGURES + PROFILE_FIGURE_COUNT };

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

struct row {
    FILE *stream;
    bool good; /* memory was never out */
    const char *texts[COLUMN_COUNT];
    char numbers[COLUMN_COUNT][32];
};

static void set_text(struct row *row, enum column column, const char *text)
{
    row->texts[column] = text ? text : "";
}

static void set_whole(struct row *row, enum column column, uint64_t value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%llu", (unsigned long long)value);
    row->texts[column] = row->numbers[column];
}

static void set_number(struct row *row, enum column column, int value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%d", value);
    row->texts[column] = row->numbers[column];
}

static void set_real(struct row *row, enum column column, double value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%.15g", value);
    row->texts[column] = row->numbers[column];
}

/* RFC 4180, 2.6 and 2.7. */
static void put_quoted(FILE *stream, const char *text)
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

static void put_row(struct row *row, const char *table)
{
    row->texts[COLUMN_table] = table;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!is_used(column))
            continue;
        if (column)
            putc(',', row->stream);
        put_quoted(row->stream, row->texts[column] ? row->texts[column] : "");
        row->texts[column] = NULL;
    }
    putc('\n', row->stream);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* `first` is the column of the sum; mean, min, max and stddev follow it. */
static void set_spread(struct row *row, int first, const struct profile_spread *spread)
{
    const double values[] = {spread->sum, spread->mean, spread->min, spread->max, spread->stddev};
    for (int i = 0; i < 5; i++)
        set_real(row, (enum column)(first + i), values[i]);
}

static void set_calls(struct row *row, const struct profile_calls *calls)
{
    set_whole(row, COLUMN_calls, calls->calls);
    set_spread(row, COLUMN_time_sum, &calls->time);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++)
        set_real(row, (enum column)figure_column(i), profile_figure_get(calls, i));
    if (calls->wait.sum > 0)
        set_spread(row, COLUMN_wait_sum, &calls->wait);
    set_whole(row, COLUMN_sent, calls->sent);
    set_whole(row, COLUMN_received, calls->received);
}

static void put_run(struct row *row, const char *name, const char *text)
{
    set_text(row, COLUMN_name, name);
    set_text(row, COLUMN_text, text);
    put_row(row, "run");
}

static void put_run_number(struct row *row, const char *name, int value)
{
    char text[32];
    snprintf(text, sizeof text, "%d", value);
    put_run(row, name, text);
}

static void put_head(struct row *row, const struct profile_result *result)
{
    char schema[32];
    snprintf(schema, sizeof schema, "qmpi-profile/%d",
             result->schema ? result->schema : PROFILE_SCHEMA);
    put_run(row, "schema", schema);
    put_run(row, "program", result->program);
    put_run(row, "mpi", result->mpi);
    put_run(row, "begin", result->begin);
    put_run_number(row, "layer", result->tool_id);
    put_run_number(row, "ranks", result->ranks);
    if (result->rank >= 0)
        put_run_number(row, "rank", result->rank);
    if (result->termination)
        put_run(row, "ending", result->termination);
    if (result->schema != 1) {
        char unfinished[32];
        snprintf(unfinished, sizeof unfinished, "%llu",
                 (unsigned long long)result->unfinished_receives);
        put_run(row, "unfinished_receives", unfinished);
    }
    set_text(row, COLUMN_name, "application");
    set_spread(row, COLUMN_time_sum, &result->application);
    put_row(row, "total");
    set_text(row, COLUMN_name, "mpi");
    set_spread(row, COLUMN_time_sum, &result->time);
    put_row(row, "total");
}

/* `region` is NULL for the whole run. */
static void put_efficiency(struct row *row, const struct profile_result *result,
                           const struct profile_region *region)
{
    struct profile_efficiency efficiency;
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    if (!profile_efficiency_find(result, region, &efficiency))
        return;
    profile_efficiency_list(&efficiency, figures);
    for (int i = 0; i < PROFILE_EFFICIENCY_FIGURES; i++) {
        set_text(row, COLUMN_region, region ? region->name : NULL);
        set_text(row, COLUMN_name, figures[i].name);
        set_real(row, COLUMN_value, figures[i].value);
        put_row(row, "efficiency");
    }
}

static void put_processes(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *process = &result->processes[i];
        set_number(row, COLUMN_rank, process->rank);
        set_text(row, COLUMN_text, process->host);
        set_real(row, COLUMN_application, process->application);
        set_real(row, COLUMN_mpi, process->mpi);
        set_real(row, COLUMN_useful, process->useful);
        set_whole(row, COLUMN_memory, process->memory);
        put_row(row, "process");
    }
}

static void put_bin(struct row *row, const char *table, const char *region, const char *name,
                    double at_least, uint64_t calls)
{
    if (!calls)
        return;
    set_text(row, COLUMN_region, region);
    set_text(row, COLUMN_name, name);
    set_real(row, COLUMN_at_least, at_least);
    set_whole(row, COLUMN_calls, calls);
    put_row(row, table);
}

/* `region` is NULL for those of the whole run. */
static void put_functions(struct row *row, const char *region,
                          const struct profile_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct profile_function *function = &functions[i];
        set_text(row, COLUMN_region, region);
        set_text(row, COLUMN_name, function->name);
        set_text(row, COLUMN_text, function->group);
        set_calls(row, &function->calls);
        put_row(row, "function");
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_function *function = &functions[i];
        put_bin(row, "size", region, function->name, 0, function->no_bytes);
        for (int bin = 0; bin < PROFILE_SIZE_BINS; bin++)
            put_bin(row, "size", region, function->name, ldexp(1, bin), function->sizes[bin]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_function *function = &functions[i];
        for (int bin = 0; bin < PROFILE_TIME_BINS; bin++)
            put_bin(row, "time", region, function->name, bin ? ldexp(1e-9, bin) : 0,
                    function->times[bin]);
    }
}

static void put_frame(FILE *stream, const struct profile_frame *frame)
{
    if (frame->function)
        fputs(frame->function, stream);
    else
        fprintf(stream, "%s+0x%llx", frame->module ? frame->module : "",
                (unsigned long long)frame->offset);
    if (frame->file)
        fprintf(stream, " (%s:%d)", frame->file, frame->line);
}

/* NULL: memory is out. To be freed. */
static char *describe_frames(const struct profile_frame *frames, int count)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    for (int i = 0; stream && i < count; i++) {
        fputs(i ? " < " : "", stream);
        put_frame(stream, &frames[i]);
    }
    return stream && !fclose(stream) ? text : NULL;
}

static void put_callsites(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->callsite_count && row->good; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        char *text = describe_frames(site->frames, site->frame_count);
        row->good = text != NULL;
        set_text(row, COLUMN_name, site->name);
        set_text(row, COLUMN_text, text);
        set_number(row, COLUMN_ranks, site->ranks);
        set_calls(row, &site->calls);
        put_row(row, "callsite");
        free(text);
    }
}

static void put_flights(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->flight_count && row->good; i++) {
        const struct profile_flight *flight = &result->flights[i];
        char *text = describe_frames(flight->frames, flight->frame_count);
        row->good = text != NULL;
        set_text(row, COLUMN_name, flight->name);
        set_text(row, COLUMN_text, text);
        set_number(row, COLUMN_rank, flight->rank);
        set_real(row, flight->waits ? COLUMN_wait_sum : COLUMN_time_sum, flight->time);
        set_text(row, COLUMN_since, flight->since);
        put_row(row, "in_flight");
        free(text);
    }
}

static void put_matrix(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *cell = &result->matrix[i];
        set_number(row, COLUMN_from, cell->from);
        set_number(row, COLUMN_to, cell->to);
        set_whole(row, COLUMN_messages, cell->messages);
        set_whole(row, COLUMN_bytes, cell->bytes);
        put_row(row, "matrix");
    }
}

static void put_communicators(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *communicator = &result->communicators[i];
        set_text(row, COLUMN_name, communicator->name);
        set_number(row, COLUMN_size, communicator->size);
        set_number(row, COLUMN_first, communicator->first);
        set_whole(row, COLUMN_instances, communicator->instances);
        set_calls(row, &communicator->calls);
        put_row(row, "communicator");
    }
}

static void put_files(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->file_count; i++) {
        const struct profile_file *file = &result->files[i];
        set_text(row, COLUMN_name, file->name);
        set_whole(row, COLUMN_opens, file->opens);
        set_whole(row, COLUMN_read, file->read);
        set_whole(row, COLUMN_written, file->written);
        set_calls(row, &file->calls);
        put_row(row, "file");
    }
}

static void put_regions(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->region_count; i++) {
        const struct profile_region *region = &result->regions[i];
        set_text(row, COLUMN_region, region->name);
        set_whole(row, COLUMN_entries, region->entries);
        set_spread(row, COLUMN_time_sum, &region->time);
        put_row(row, "region");
        set_text(row, COLUMN_region, region->name);
        set_spread(row, COLUMN_time_sum, &region->mpi);
        put_row(row, "region_mpi");
        set_text(row, COLUMN_region, region->name);
        set_spread(row, COLUMN_time_sum, &region->useful);
        put_row(row, "region_useful");
        put_efficiency(row, result, region);
        put_functions(row, region->name, region->functions, region->function_count);
    }
}

bool profile_print_csv(FILE *stream, const struct profile_result *result)
{
    struct row row = {.stream = stream, .good = true};
    memcpy(row.texts, column_names, sizeof column_names);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++)
        row.texts[figure_column(i)] = profile_figures[i].name;
    put_row(&row, "table");
    put_head(&row, result);
    put_efficiency(&row, result, NULL);
    put_processes(&row, result);
    put_flights(&row, result);
    put_functions(&row, NULL, result->functions, result->function_count);
    put_callsites(&row, result);
    put_matrix(&row, result);
    put_communicators(&row, result);
    put_files(&row, result);
    put_regions(&row, result);
    return row.good;
}

bool profile_write_csv(const struct profile_result *result, const char *path, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_csv(output.stream, result);
    return profile_output_close(&output, good, problem);
}
