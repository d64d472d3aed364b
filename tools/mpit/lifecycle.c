/* SPDX-License-Identifier: MIT */
/* See lifecycle.h. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include "catalogue.h"
#include "list.h"
#include "settings.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Listing --------------------------------------------------------------------------------- */

static bool write_list(FILE *stream, const struct layer *layer, const struct list *list)
{
    struct tool_numbers numbers;
    if (layer->json)
        return list_json(stream, list);
    tool_numbers_begin(&numbers);
    list_table(stream, list);
    tool_numbers_end(&numbers);
    return !ferror(stream);
}

static void say_list(const struct layer *layer, const struct list *list)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return;
    write_list(stream, layer, list);
    fclose(stream);
    qmpi_print(text);
    free(text);
}

static void save_list(const struct layer *layer, const struct list *list)
{
    char *name = tool_file_name(layer->output, layer->tool_id, layer->rank);
    FILE *stream = name ? fopen(name, "we") : NULL;
    const bool written = stream && write_list(stream, layer, list);
    if (!stream || fclose(stream) || !written)
        qmpi_printf("mpit (layer %d): cannot write %s: %s\n"
                    "  hint: give output= a file in a directory that you can write to",
                    layer->tool_id, name ? name : layer->output, strerror(errno));
    free(name);
}

/* Of a job whose processes would all write one file the first does. */
static void write_catalogue(struct layer *layer, const char *moment)
{
    const bool to_file = layer->output && strcmp(layer->output, "-") != 0;
    if (layer->rank && !(to_file && tool_file_name_is_per_process(layer->output)))
        return;
    early_has_lost(&layer->early);
    struct catalogue *catalogue = catalogue_read(layer->tool_id, &layer->started, &layer->early,
                                                 layer->patterns, layer->has_world);
    const struct list list = {.catalogue = catalogue,
                              .patterns = layer->patterns,
                              .moment = moment,
                              .tool_id = layer->tool_id,
                              .rank = layer->rank};
    if (to_file)
        save_list(layer, &list);
    else if (layer->output)
        write_list(stdout, layer, &list);
    else
        say_list(layer, &list);
    if (layer->output && !to_file)
        fflush(stdout);
    catalogue_free(catalogue);
    early_clear(&layer->early);
}

static bool must_be_started(void *data, const struct variable *variable)
{
    const struct layer *layer = data;
    return !variable->continuous &&
           early_allows(&layer->early, variable->name, variable->var_class, layer->patterns);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

void lifecycle_begin(struct layer *layer)
{
    int provided;
    pthread_mutex_lock(&layer->lock);
    if (!layer->begun && CALL_NEXT(layer->tool_id, T_init_thread, MPI_T_INIT_THREAD_T,
                                   MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS) {
        layer->begun = true;
        settings_apply(layer->tool_id);
        early_read(&layer->early, layer->at == AT_NEVER ? "" : layer->patterns);
    }
    pthread_mutex_unlock(&layer->lock);
}

static char *csv_file(const struct layer *layer)
{
    char *name = tool_file_name(layer->csv, layer->tool_id, layer->rank);
    if (layer->ranks == 1 || tool_file_name_is_per_process(layer->csv))
        return name;
    char *rank_name = qmpi_format("%s.%d", name ? name : "", layer->rank);
    free(name);
    return rank_name;
}

void lifecycle_run(struct layer *layer, bool has_world)
{
    pthread_mutex_lock(&layer->lock);
    const bool first = layer->begun && !layer->running && !layer->ended;
    layer->running |= first;
    if (first) {
        layer->has_world = has_world;
        early_has_lost(&layer->early);
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
            watch_begin(&layer->started, layer->tool_id, has_world, must_be_started, layer);
        if (layer->csv)
            samples_begin(&layer->samples, layer->tool_id, layer->rank, has_world, layer->globs,
                          &layer->early, csv_file(layer));
    }
    pthread_mutex_unlock(&layer->lock);
}

void lifecycle_sample(struct layer *layer)
{
    if (layer->csv && layer->running)
        samples_write(&layer->samples, "pcontrol");
}

void lifecycle_end(struct layer *layer)
{
    pthread_mutex_lock(&layer->lock);
    if (layer->running) {
        if (layer->csv) {
            samples_write(&layer->samples, "finalize");
            samples_end(&layer->samples);
        }
        if (layer->at == AT_FINALIZE) {
            watch_extend(&layer->started);
            write_catalogue(layer, "finalize");
            watch_end(&layer->started);
        }
        layer->running = false;
        layer->ended = true;
        QMPI_Context next = NULL;
        ((QMPI_T_finalize_t *)next_find(layer->tool_id, MPI_T_FINALIZE_T, &next))(next);
    }
    pthread_mutex_unlock(&layer->lock);
}
