/* SPDX-License-Identifier: MIT */
/* See csv.h. */
#define _GNU_SOURCE
#include "profile/csv.h"

#include "profile/atomic_file.h"
#include "profile/csv_row.h"
#include "profile/efficiency.h"
#include "profile/findings.h"

#include <math.h>

static void put_run(struct row *row, const char *name, const char *text)
{
    row_set_text(row, COLUMN_name, name);
    row_set_text(row, COLUMN_text, text);
    row_put(row, "run");
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
    row_set_text(row, COLUMN_name, "application");
    row_set_spread(row, COLUMN_time_sum, &result->application);
    row_put(row, "total");
    row_set_text(row, COLUMN_name, "mpi");
    row_set_spread(row, COLUMN_time_sum, &result->time);
    row_put(row, "total");
}

/* `region` is NULL for the whole run. */
static void put_efficiency(struct row *row, const struct profile_result *result,
                           const struct profile_region *region)
{
    struct profile_efficiency efficiency;
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    if (!profile_efficiency_find(result, region, &efficiency))
        return;
    const int count = profile_efficiency_list(&efficiency, figures);
    for (int i = 0; i < count; i++) {
        row_set_text(row, COLUMN_region, region ? region->name : NULL);
        row_set_text(row, COLUMN_name, figures[i].name);
        row_set_real(row, COLUMN_value, figures[i].value);
        row_put(row, "efficiency");
    }
}

static void put_findings(struct row *row, const struct profile_result *result)
{
    struct profile_findings findings;
    if (!profile_findings_find(result, &findings))
        return;
    for (int i = 0; i < findings.count; i++) {
        const struct profile_finding *it = &findings.all[i];
        row_set_text(row, COLUMN_name, it->kind);
        row_set_text(row, COLUMN_text, it->summary);
        row_set_number(row, COLUMN_rank, it->rank);
        if (it->peer >= 0)
            row_set_number(row, COLUMN_peer, it->peer);
        row_set_real(row, COLUMN_time_sum, it->seconds);
        row_set_real(row, COLUMN_value, it->share);
        row_put(row, "finding");
    }
}

static void put_processes(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *process = &result->processes[i];
        row_set_number(row, COLUMN_rank, process->rank);
        row_set_text(row, COLUMN_text, process->host);
        row_set_real(row, COLUMN_application, process->application);
        row_set_real(row, COLUMN_mpi, process->mpi);
        row_set_real(row, COLUMN_useful, process->useful);
        row_set_whole(row, COLUMN_memory, process->memory);
        if (process->path > 0)
            row_set_real(row, COLUMN_path, process->path);
        row_put(row, "process");
    }
}

static void put_bin(struct row *row, const char *table, const char *region, const char *name,
                    double at_least, uint64_t calls)
{
    if (!calls)
        return;
    row_set_text(row, COLUMN_region, region);
    row_set_text(row, COLUMN_name, name);
    row_set_real(row, COLUMN_at_least, at_least);
    row_set_whole(row, COLUMN_calls, calls);
    row_put(row, table);
}

/* `region` is NULL for those of the whole run. */
static void put_functions(struct row *row, const char *region,
                          const struct profile_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct profile_function *function = &functions[i];
        row_set_text(row, COLUMN_region, region);
        row_set_text(row, COLUMN_name, function->name);
        row_set_text(row, COLUMN_text, function->group);
        if (function->ranks)
            row_set_number(row, COLUMN_ranks, function->ranks);
        row_set_calls(row, &function->calls);
        row_put(row, "function");
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

static void put_matrix(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        const struct profile_matrix_entry *cell = &result->matrix[i];
        row_set_number(row, COLUMN_from, cell->from);
        row_set_number(row, COLUMN_to, cell->to);
        row_set_whole(row, COLUMN_messages, cell->messages);
        row_set_whole(row, COLUMN_bytes, cell->bytes);
        row_put(row, "matrix");
    }
}

static void put_communicators(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *communicator = &result->communicators[i];
        row_set_text(row, COLUMN_name, communicator->name);
        row_set_number(row, COLUMN_size, communicator->size);
        row_set_number(row, COLUMN_first, communicator->first);
        row_set_whole(row, COLUMN_instances, communicator->instances);
        row_set_calls(row, &communicator->calls);
        row_put(row, "communicator");
    }
}

static void put_files(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->file_count; i++) {
        const struct profile_file *file = &result->files[i];
        row_set_text(row, COLUMN_name, file->name);
        row_set_whole(row, COLUMN_opens, file->opens);
        row_set_whole(row, COLUMN_read, file->read);
        row_set_whole(row, COLUMN_written, file->written);
        row_set_calls(row, &file->calls);
        row_put(row, "file");
    }
}

static void put_regions(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->region_count; i++) {
        const struct profile_region *region = &result->regions[i];
        row_set_text(row, COLUMN_region, region->name);
        row_set_whole(row, COLUMN_entries, region->entries);
        row_set_spread(row, COLUMN_time_sum, &region->time);
        row_put(row, "region");
        row_set_text(row, COLUMN_region, region->name);
        row_set_spread(row, COLUMN_time_sum, &region->mpi);
        row_put(row, "region_mpi");
        row_set_text(row, COLUMN_region, region->name);
        row_set_spread(row, COLUMN_time_sum, &region->useful);
        row_put(row, "region_useful");
        put_efficiency(row, result, region);
        put_functions(row, region->name, region->functions, region->function_count);
    }
}

bool profile_print_csv(FILE *stream, const struct profile_result *result)
{
    struct row row = {.stream = stream, .good = true};
    row_put_names(&row);
    put_head(&row, result);
    put_findings(&row, result);
    put_efficiency(&row, result, NULL);
    row_put_windows(&row, result);
    put_processes(&row, result);
    row_put_flights(&row, result);
    put_functions(&row, NULL, result->functions, result->function_count);
    row_put_functions_by_rank(&row, result);
    row_put_callsites(&row, result);
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
