/* SPDX-License-Identifier: MIT */
/* See lifecycle.h. */
#define _GNU_SOURCE
#include "tools/mpit/lifecycle.h"

#include "toolkit/toolkit.h"
#include "tools/mpit/catalogue.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Listing --------------------------------------------------------------------------------- */

static bool print_list_in_format(FILE *stream, const struct mpit_layer *layer,
                                 const struct catalogue_list *list)
{
    struct qmpi_value_numbers numbers;
    bool good = true;
    qmpi_value_begin_numbers(&numbers);
    if (layer->json)
        good = catalogue_print_json(stream, list);
    else
        catalogue_print_table(stream, list);
    qmpi_value_end_numbers(&numbers);
    return good && !ferror(stream);
}

/* Returns the list as text, or NULL if memory is exhausted. The caller frees the text. */
static char *format_list(const struct mpit_layer *layer, const struct catalogue_list *list)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream && print_list_in_format(stream, layer, list);
    if (stream && fclose(stream) != 0)
        good = false;
    if (good)
        return text;
    free(text);
    return NULL;
}

/* Returns false if memory is exhausted. */
static bool name_file(const struct mpit_layer *layer, const char *pattern, bool is_of_process,
                      struct tool_output *output)
{
    const struct tool_output_names names = {.pattern = pattern,
                                            .tool_id = layer->tool_id,
                                            .rank = layer->rank,
                                            .is_of_process = is_of_process,
                                            .folder = layer->folder};
    return tool_output_make(output, &names);
}

static void print_unwritten(const struct mpit_layer *layer, const char *name, const char *reason)
{
    qmpi_printf("mpit (layer %d): cannot write %s: %s\n"
                "  hint: give output= a file in a directory that you can write to",
                layer->tool_id, name, reason);
}

/* Prints the list. Flushes stdout first, so that the list follows the output of the program. */
static void print_list(const struct mpit_layer *layer, const char *text)
{
    const size_t length = strlen(text);
    fflush(stdout);
    if (qmpi_output_standard_write(STDOUT_FILENO, text, length) < length)
        print_unwritten(layer, "the list to stdout", "it is closed, or nobody reads it");
}

static void save_list(const struct mpit_layer *layer, const char *text)
{
    struct tool_output output;
    struct qmpi_output file;
    const char *name =
        name_file(layer, layer->output, false, &output) ? tool_output_claim(&output, true) : NULL;
    int problem = name ? qmpi_output_open(&file, name, O_CREAT | O_TRUNC, 0666) : ENOMEM;
    if (!problem) {
        problem = qmpi_output_write(&file, text, strlen(text));
        const int after = qmpi_output_close(&file);
        problem = problem ? problem : after;
        if (problem)
            samples_discard_file(name);
    }
    if (problem)
        print_unwritten(layer, name ? name : layer->output, strerror(problem));
    else
        tool_output_report(&output, "mpit");
    tool_output_clear(&output);
}

struct list_request {
    struct mpit_layer *layer;
    const char *moment;
};

/* Writes the list. Only rank 0 does so, unless each process has a file of its own. */
static void write_list_now(void *data)
{
    const struct list_request *request = data;
    struct mpit_layer *layer = request->layer;
    const char *moment = request->moment;
    const bool to_file = layer->output && strcmp(layer->output, "-") != 0;
    if (layer->rank && !(to_file && tool_output_name_is_per_process(layer->output)))
        return;
    variable_early_has_lost(&layer->early);
    struct catalogue *catalogue = catalogue_read(layer->tool_id, &layer->started, &layer->early,
                                                 layer->patterns, layer->has_world);
    const struct catalogue_list list = {.catalogue = catalogue,
                                        .patterns = layer->patterns,
                                        .moment = moment,
                                        .tool_id = layer->tool_id,
                                        .rank = layer->rank};
    char *text = format_list(layer, &list);
    if (!text)
        print_unwritten(layer, "the list", strerror(ENOMEM));
    else if (to_file)
        save_list(layer, text);
    else if (layer->output)
        print_list(layer, text);
    else
        qmpi_print(text);
    free(text);
    catalogue_free(catalogue);
    variable_early_clear(&layer->early);
}

/* Writes the list, or skips it if memory is exhausted, because the program must be able to
 * continue. */
static void write_catalogue(struct mpit_layer *layer, const char *moment)
{
    struct list_request request = {layer, moment};
    if (!qmpi_memory_catch_exhausted(write_list_now, &request))
        qmpi_printf("mpit (layer %d): out of memory: the list is not written", layer->tool_id);
}

static bool is_to_be_started(void *data, const struct variable *variable)
{
    const struct mpit_layer *layer = data;
    return !variable->continuous && variable_early_allows(&layer->early, variable->name,
                                                          variable->var_class, layer->patterns);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

void lifecycle_begin(struct mpit_layer *layer)
{
    int provided;
    pthread_mutex_lock(&layer->lock);
    if (!layer->begun && CALL_NEXT(layer->tool_id, T_init_thread, MPI_T_INIT_THREAD_T,
                                   MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS) {
        layer->begun = true;
        mpit_apply_settings(layer->tool_id);
        variable_early_read(&layer->early, layer->at == AT_NEVER ? "" : layer->patterns);
    }
    pthread_mutex_unlock(&layer->lock);
}

static char *make_csv_name(const struct mpit_layer *layer)
{
    struct tool_output output;
    if (!name_file(layer, layer->csv, layer->ranks > 1, &output))
        qmpi_memory_exhausted();
    char *name = qmpi_copy(tool_output_claim(&output, true));
    tool_output_report(&output, "mpit");
    tool_output_clear(&output);
    return name;
}

void lifecycle_run(struct mpit_layer *layer, bool has_world)
{
    pthread_mutex_lock(&layer->lock);
    const bool first = layer->begun && !layer->running && !layer->ended;
    layer->running |= first;
    if (first) {
        next_keep_mpi_t(layer->tool_id);
        layer->has_world = has_world;
        variable_early_has_lost(&layer->early);
        const int rank = qmpi_launcher_rank();
        layer->rank = rank < 0 ? 0 : rank;
        layer->ranks = has_world ? 1 : 2;
        if (has_world) {
            PMPI_Comm_rank(MPI_COMM_WORLD, &layer->rank);
            PMPI_Comm_size(MPI_COMM_WORLD, &layer->ranks);
        } else if (rank < 0) {
            layer->ranks = 1;
        }
        if (layer->at == AT_INIT)
            write_catalogue(layer, "init");
        if (layer->at == AT_FINALIZE)
            samples_watch_begin(&layer->started, layer->tool_id, has_world, is_to_be_started,
                                layer);
        if (layer->csv)
            samples_begin(&layer->samples, layer->tool_id, layer->rank, has_world, layer->globs,
                          &layer->early, make_csv_name(layer));
    }
    pthread_mutex_unlock(&layer->lock);
}

void lifecycle_sample(struct mpit_layer *layer)
{
    if (layer->csv && layer->running) {
        next_keep_mpi_t(layer->tool_id);
        samples_write(&layer->samples, "pcontrol");
    }
}

void lifecycle_end(struct mpit_layer *layer)
{
    pthread_mutex_lock(&layer->lock);
    if (layer->running) {
        next_keep_mpi_t(layer->tool_id);
        if (layer->csv) {
            samples_write(&layer->samples, "finalize");
            samples_end(&layer->samples);
        }
        if (layer->at == AT_FINALIZE) {
            samples_watch_extend(&layer->started);
            write_catalogue(layer, "finalize");
            samples_watch_end(&layer->started);
        }
        layer->running = false;
        layer->ended = true;
        QMPI_Context next = NULL;
        ((QMPI_T_finalize_t *)next_find(layer->tool_id, MPI_T_FINALIZE_T, &next))(next);
    }
    pthread_mutex_unlock(&layer->lock);
}
