/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: CSV, of results and of comparisons. Cells are set in a row, by column, until
 * row_put writes the row. Cells that were not set are empty.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"

#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns in their order. The figures of figures.h that have no column here get columns after
 * these. Readers find a column by its name (docs/compatibility.md), so new ones may be added here.
 */
/* clang-format off */
#define COLUMNS(X) \
    X(table) X(region) X(name) X(text) X(rank) X(from) X(to) X(calls) \
    X(time_sum) X(time_mean) X(time_min) X(time_max) X(time_stddev) X(shortest) X(longest) \
    X(wait_sum) X(wait_mean) X(wait_min) X(wait_max) X(wait_stddev) X(sent) X(received) \
    X(at_least) X(messages) X(bytes) X(size) X(first) X(instances) X(opens) X(read) X(written) \
    X(ranks) X(entries) X(application) X(mpi) X(memory) X(since) X(useful) \
    X(value) X(time_min_rank) X(time_max_rank) X(wait_min_rank) X(wait_max_rank) \
    X(peer) X(path) X(processor_time) X(queued) X(preemptions) X(processors) X(off)
/* clang-format on */

#define COLUMN_NUMBER(NAME) COLUMN_##NAME,

enum column { COLUMNS(COLUMN_NUMBER) COLUMN_FIGURES };

enum { COLUMN_COUNT = COLUMN_FIGURES + PROFILE_FIGURE_COUNT };

struct row {
    FILE *stream;
    bool good; /* memory has not been exhausted */
    const char *texts[COLUMN_COUNT];
    char numbers[COLUMN_COUNT][32];
};

#define COLUMN_NAME(NAME) #NAME,
static const char *const column_names[] = {COLUMNS(COLUMN_NAME)};

/* Returns the column of a figure: one of the columns above, or one after them. */
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

static void row_set_text(struct row *row, enum column column, const char *text)
{
    row->texts[column] = text ? text : "";
}

static void row_set_whole(struct row *row, enum column column, uint64_t value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%llu", (unsigned long long)value);
    row->texts[column] = row->numbers[column];
}

static void row_set_number(struct row *row, enum column column, int value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%d", value);
    row->texts[column] = row->numbers[column];
}

static void row_set_real(struct row *row, enum column column, double value)
{
    snprintf(row->numbers[column], sizeof row->numbers[column], "%.15g", value);
    row->texts[column] = row->numbers[column];
}

static void row_put(struct row *row, const char *table)
{
    row->texts[COLUMN_table] = table;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!is_used(column))
            continue;
        if (column)
            putc(',', row->stream);
        qmpi_text_put_csv(row->stream, row->texts[column] ? row->texts[column] : "");
        row->texts[column] = NULL;
    }
    putc('\n', row->stream);
}

/* `first` is the column of the sum; mean, min, max and stddev follow it. */
static void row_set_spread(struct row *row, enum column first, const struct profile_spread *spread)
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

static void row_set_calls(struct row *row, const struct profile_calls *calls)
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

static void row_put_names(struct row *row)
{
    memcpy(row->texts, column_names, sizeof column_names);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++)
        row->texts[figure_column(i)] = profile_figures[i].name;
    row_put(row, column_names[COLUMN_table]);
}

/* Writes the calls of the ranks that profile_rank_is_listed selects. */
static void put_rank_rows(struct row *row, const struct profile_result *result, const char *table,
                          const char *name, const char *text, const struct profile_calls *calls,
                          const struct profile_by_rank *by_rank)
{
    for (size_t i = 0; i < by_rank->count; i++) {
        const struct profile_rank_calls *it = &by_rank->all[i];
        if (!profile_rank_is_listed(result, calls, it))
            continue;
        row_set_text(row, COLUMN_name, name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, it->rank);
        row_set_whole(row, COLUMN_calls, it->calls);
        row_set_real(row, COLUMN_time_sum, it->time);
        if (calls->wait.sum > 0)
            row_set_real(row, COLUMN_wait_sum, it->wait);
        row_set_whole(row, COLUMN_sent, it->sent);
        row_set_whole(row, COLUMN_received, it->received);
        row_put(row, table);
    }
}

static void put_functions_by_rank(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        const struct profile_function *function = &result->functions[i];
        put_rank_rows(row, result, "function_rank", function->name, function->group,
                      &function->calls, &function->by_rank);
    }
}

static void put_wait_rows(struct row *row, const struct profile_callsite *site, const char *text)
{
    for (size_t i = 0; i < site->waits.count; i++) {
        const struct profile_wait *wait = &site->waits.all[i];
        row_set_text(row, COLUMN_name, site->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, wait->rank);
        if (wait->peer >= 0)
            row_set_number(row, COLUMN_peer, wait->peer);
        row_set_whole(row, COLUMN_calls, wait->calls);
        row_set_real(row, COLUMN_wait_sum, wait->time);
        row_put(row, "wait");
    }
}

static void put_callsites(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->callsite_count && row->good; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        char *text = profile_programs_describe(site->frames, site->frame_count);
        row->good = text != NULL;
        row_set_text(row, COLUMN_name, site->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_ranks, site->ranks);
        if (site->messages)
            row_set_whole(row, COLUMN_messages, site->messages);
        row_set_calls(row, &site->calls);
        row_put(row, "callsite");
        put_rank_rows(row, result, "callsite_rank", site->name, text, &site->calls, &site->by_rank);
        put_wait_rows(row, site, text);
        free(text);
    }
}

/* Returns "FIRST -> SECOND", and frees both strings. Returns NULL if memory is exhausted. */
static char *join_places(char *first, char *second)
{
    char *both = NULL;
    if (!first || !second || asprintf(&both, "%s -> %s", first, second) < 0)
        both = NULL;
    free(first);
    free(second);
    return both;
}

static void put_outside(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->outside_count && row->good; i++) {
        const struct profile_outside *it = &result->outside[i];
        const struct profile_callsite *from = profile_callsite_find(result, it->from);
        const struct profile_callsite *to = profile_callsite_find(result, it->to);
        char *name = join_places(strdup(from ? from->name : ""), strdup(to ? to->name : ""));
        char *text = join_places(
            from ? profile_programs_describe(from->frames, from->frame_count) : strdup(""),
            to ? profile_programs_describe(to->frames, to->frame_count) : strdup(""));
        row->good = name && text;
        row_set_text(row, COLUMN_name, name);
        row_set_text(row, COLUMN_text, text);
        row_set_spread(row, COLUMN_time_sum, &it->time);
        row_put(row, "outside");
        for (size_t k = 0; k < it->ranks.count; k++) {
            row_set_text(row, COLUMN_name, name);
            row_set_text(row, COLUMN_text, text);
            row_set_number(row, COLUMN_rank, it->ranks.all[k].rank);
            row_set_real(row, COLUMN_time_sum, it->ranks.all[k].time);
            row_put(row, "outside_rank");
        }
        free(name);
        free(text);
    }
}

static void put_flights(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->flight_count && row->good; i++) {
        const struct profile_flight *flight = &result->flights[i];
        char *text = profile_programs_describe(flight->frames, flight->frame_count);
        row->good = text != NULL;
        row_set_text(row, COLUMN_name, flight->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, flight->rank);
        row_set_real(row, flight->waits ? COLUMN_wait_sum : COLUMN_time_sum, flight->time);
        row_set_text(row, COLUMN_since, flight->since);
        if (flight->await_count == 1 && flight->awaits->peer >= 0)
            row_set_number(row, COLUMN_peer, flight->awaits->peer);
        row_put(row, "in_flight");
        free(text);
    }
}

/* ---- Efficiency over time -------------------------------------------------------------------- */

static void put_window_efficiency(struct row *row, const struct profile_windows *windows,
                                  size_t number)
{
    static const char *const names[] = {"parallel", "communication", "load_balance"};
    struct profile_window_efficiency it;
    if (!profile_windows_find(windows, number, number + 1, &it))
        return;
    const double values[] = {it.parallel, it.communication, it.balance};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        row_set_text(row, COLUMN_name, names[i]);
        row_set_real(row, COLUMN_at_least, windows->width * (double)number);
        row_set_real(row, COLUMN_value, values[i]);
        row_put(row, "window");
    }
}

static void put_window_rank(struct row *row, const struct profile_windows *windows,
                            const struct profile_window_rank *rank)
{
    for (size_t number = 0; number < rank->count; number++) {
        const struct profile_window window = profile_window_get(windows, rank, number);
        row_set_number(row, COLUMN_rank, rank->rank);
        row_set_real(row, COLUMN_at_least, windows->width * (double)number);
        row_set_real(row, COLUMN_application, window.profiled);
        row_set_real(row, COLUMN_mpi, window.mpi);
        row_put(row, "window_rank");
    }
}

static void put_windows(struct row *row, const struct profile_result *result)
{
    const struct profile_windows *windows = &result->windows;
    const size_t count = profile_windows_count(windows);
    for (size_t i = 0; i < count; i++)
        put_window_efficiency(row, windows, i);
    if (windows->rank_count > PROFILE_OUTLIERS && !result->every_rank)
        return;
    for (size_t i = 0; i < windows->rank_count; i++)
        put_window_rank(row, windows, &windows->ranks[i]);
}

/* ---- All tables ------------------------------------------------------------------------------ */

static void put_run_text(struct row *row, const char *name, const char *text)
{
    row_set_text(row, COLUMN_name, name);
    row_set_text(row, COLUMN_text, text);
    row_put(row, "run");
}

static void put_run_number(struct row *row, const char *name, int value)
{
    char text[32];
    snprintf(text, sizeof text, "%d", value);
    put_run_text(row, name, text);
}

static void put_programs(struct row *row, const struct profile_result *result)
{
    const char **programs;
    const size_t count = profile_programs_list(result, &programs);
    for (size_t i = 0; i < count; i++)
        put_run_text(row, "program", programs[i]);
    free(programs);
}

static void put_head(struct row *row, const struct profile_result *result)
{
    char schema[32];
    snprintf(schema, sizeof schema, "qmpi-profile/%d",
             result->schema ? result->schema : PROFILE_SCHEMA);
    put_run_text(row, "schema", schema);
    put_programs(row, result);
    if (result->command)
        put_run_text(row, "command", result->command);
    if (result->user)
        put_run_text(row, "user", result->user);
    if (result->batch_job)
        put_run_text(row, "batch_job", result->batch_job);
    put_run_text(row, "mpi", result->mpi);
    put_run_text(row, "begin", result->begin);
    put_run_number(row, "layer", result->tool_id);
    put_run_number(row, "ranks", result->ranks);
    if (result->rank >= 0)
        put_run_number(row, "rank", result->rank);
    if (result->termination)
        put_run_text(row, "ending", result->termination);
    if (result->schema != 1) {
        char unfinished[32];
        snprintf(unfinished, sizeof unfinished, "%llu",
                 (unsigned long long)result->unfinished_receives);
        put_run_text(row, "unfinished_receives", unfinished);
    }
    for (size_t i = 0; i < result->variable_count; i++) {
        row_set_text(row, COLUMN_name, result->environment[i].name);
        row_set_text(row, COLUMN_text, result->environment[i].value);
        row_put(row, "environment");
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

static void put_budget(struct row *row, const struct profile_result *result)
{
    struct profile_budget budget;
    if (!profile_budget_find(result, &budget))
        return;
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++) {
        row_set_text(row, COLUMN_name, profile_budget_name((enum profile_budget_part)part));
        row_set_real(row, COLUMN_time_sum, budget.items[part].seconds);
        row_set_real(row, COLUMN_value, budget.items[part].share);
        row_put(row, "budget");
    }
}

static void put_findings(struct row *row, const struct profile_result *result)
{
    struct profile_findings findings;
    if (!profile_findings_find(result, &findings))
        return;
    for (int i = 0; i < findings.count; i++) {
        const struct profile_finding *it = &findings.all[i];
        row_set_text(row, COLUMN_name, profile_finding_kind_name(it));
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
        if (process->processor_time > 0) {
            row_set_real(row, COLUMN_processor_time, process->processor_time);
            row_set_real(row, COLUMN_queued, process->queued);
            row_set_whole(row, COLUMN_preemptions, process->preemptions);
        }
        row_set_text(row, COLUMN_processors, process->processors);
        if (process->off > 0)
            row_set_real(row, COLUMN_off, process->off);
        row_put(row, "process");
    }
}

static void put_bin_row(struct row *row, const char *table, const char *region, const char *name,
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

/* `region` is NULL for functions of the whole run. */
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
        put_bin_row(row, "size", region, function->name, 0, function->no_bytes);
        for (int bin = 0; bin < PROFILE_SIZE_BINS; bin++)
            put_bin_row(row, "size", region, function->name, ldexp(1, bin), function->sizes[bin]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_function *function = &functions[i];
        for (int bin = 0; bin < PROFILE_TIME_BINS; bin++)
            put_bin_row(row, "time", region, function->name, bin ? ldexp(1e-9, bin) : 0,
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

bool profile_csv_print(FILE *stream, const struct profile_result *result)
{
    struct row row = {.stream = stream, .good = true};
    row_put_names(&row);
    put_head(&row, result);
    put_budget(&row, result);
    put_findings(&row, result);
    put_efficiency(&row, result, NULL);
    put_windows(&row, result);
    put_processes(&row, result);
    put_flights(&row, result);
    put_functions(&row, NULL, result->functions, result->function_count);
    put_functions_by_rank(&row, result);
    put_callsites(&row, result);
    put_outside(&row, result);
    put_matrix(&row, result);
    put_communicators(&row, result);
    put_files(&row, result);
    put_regions(&row, result);
    return row.good;
}

bool profile_csv_write(const struct profile_result *result, const char *path, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_csv_print(output.stream, result);
    return profile_output_close(&output, good, problem);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* The columns in their order. New ones go to the end. */
enum { TABLE, NAME, TEXT, RANK, PEER, FIGURE, RUN, VALUE, BASE, DIFFERENCE, RATIO, COLUMNS_COUNT };

struct line {
    const char *texts[COLUMNS_COUNT]; /* NULL: empty, or a number */
    double numbers[COLUMNS_COUNT];    /* NAN: empty */
};

static struct line start_line(const char *table, const char *name, const char *text)
{
    struct line line = {.texts = {table, name, text}};
    for (int column = 0; column < COLUMNS_COUNT; column++)
        line.numbers[column] = NAN;
    return line;
}

static void put_line(FILE *stream, const struct line *line)
{
    for (int column = 0; column < COLUMNS_COUNT; column++) {
        if (column)
            putc(',', stream);
        if (line->texts[column])
            qmpi_text_put_csv(stream, line->texts[column]);
        else if (isfinite(line->numbers[column]))
            fprintf(stream, "%.15g", line->numbers[column]);
    }
    putc('\n', stream);
}

/* ---- The head -------------------------------------------------------------------------------- */

static void put_run_line(FILE *stream, int run, const char *name, const char *text)
{
    struct line line = start_line("run", name, text);
    line.numbers[RUN] = run;
    put_line(stream, &line);
}

static void put_run_lines(FILE *stream, const struct compare_result *comparison)
{
    for (int run = 0; run < comparison->run_count; run++) {
        const struct profile_run *it = &comparison->runs[run];
        char ranks[16];
        snprintf(ranks, sizeof ranks, "%d", it->result->ranks);
        put_run_line(stream, run, "file", it->name);
        put_run_line(stream, run, "program", it->result->program);
        put_run_line(stream, run, "mpi", it->result->mpi);
        put_run_line(stream, run, "begin", it->result->begin);
        put_run_line(stream, run, "ranks", ranks);
        if (it->result->termination)
            put_run_line(stream, run, "ending", it->result->termination);
    }
}

static void put_limit_lines(FILE *stream, const struct compare_result *comparison)
{
    for (int i = 0; i < comparison->limit_count; i++) {
        const struct compare_limit *limit = &comparison->limits[i];
        for (int run = 1; run < comparison->run_count; run++) {
            const bool exceeds = compare_exceeds(comparison, limit, run);
            struct line line = start_line("limit", limit->name, exceeds ? "exceeded" : "");
            line.numbers[RUN] = run;
            line.numbers[VALUE] = compare_worsening(comparison, limit->name, run);
            line.numbers[BASE] = limit->percent;
            put_line(stream, &line);
        }
    }
}

static void put_finding_lines(FILE *stream, const struct compare_result *comparison)
{
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct profile_finding *const *runs = comparison->pairs[i].runs;
        for (int run = 0; run < comparison->run_count; run++) {
            if (!runs[run])
                continue;
            struct line line =
                start_line("finding", profile_finding_kind_name(runs[run]), runs[run]->summary);
            line.texts[FIGURE] = "seconds";
            line.numbers[RANK] = runs[run]->rank;
            if (runs[run]->peer >= 0)
                line.numbers[PEER] = runs[run]->peer;
            line.numbers[RUN] = run;
            line.numbers[VALUE] = runs[run]->seconds;
            put_line(stream, &line);
        }
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void put_figure_lines(FILE *stream, const struct compare_result *comparison,
                             const struct compare_entry *entry, int figure, struct line line)
{
    const double base = compare_value(comparison, entry, figure, 0);
    for (int run = 0; run < comparison->run_count; run++) {
        const double value = compare_value(comparison, entry, figure, run);
        line.numbers[RUN] = run;
        line.numbers[VALUE] = entry->has[run] ? value : NAN;
        line.numbers[BASE] = run && entry->has[0] ? base : NAN;
        line.numbers[DIFFERENCE] = run ? value - base : NAN;
        line.numbers[RATIO] = run && base > 0 ? value / base : NAN;
        put_line(stream, &line);
    }
}

static const char *const table_names[COMPARE_TABLES] = {
    "total", "efficiency", "function", "callsite", "rank", "wait", "region"};

static bool put_entry_lines(FILE *stream, const struct compare_result *comparison,
                            enum compare_kind kind, const struct compare_entry *entry)
{
    const struct compare_table *table = &comparison->tables[kind];
    const struct compare_entry *place =
        kind == COMPARE_WAITS ? &comparison->tables[COMPARE_CALLSITES].entries[entry->site] : entry;
    const struct profile_callsite *site =
        place->sites ? compare_last_site(comparison, place) : NULL;
    char *text = site ? profile_programs_describe(site->frames, site->frame_count) : NULL;
    struct line line = start_line(table_names[kind], entry->name, text);
    if (entry->rank >= 0)
        line.numbers[RANK] = entry->rank;
    if (entry->peer >= 0)
        line.numbers[PEER] = entry->peer;
    for (int figure = 0; figure < table->figure_count; figure++) {
        line.texts[FIGURE] = table->figures[figure].name;
        put_figure_lines(stream, comparison, entry, figure, line);
    }
    free(text);
    return text || !site;
}

bool profile_compare_print_csv(FILE *stream, const struct compare_result *comparison)
{
    bool good = true;
    fputs("table,name,text,rank,peer,figure,run,value,base,difference,ratio\n", stream);
    put_run_lines(stream, comparison);
    put_limit_lines(stream, comparison);
    put_finding_lines(stream, comparison);
    for (int kind = 0; kind < COMPARE_TABLES; kind++) {
        const struct compare_table *table = &comparison->tables[kind];
        for (size_t i = 0; i < table->entry_count && good; i++)
            good = put_entry_lines(stream, comparison, (enum compare_kind)kind, &table->entries[i]);
    }
    return good;
}
