/* SPDX-License-Identifier: MIT */
/*
 * The tool trace makes a timeline of the run. An observer records the calls of each thread, and a
 * thread of the tool writes them to a file for each process. This file adds the tool to the stack
 * and publishes its MPI_T variables.
 *
 * A call passes through these files: record/observe.c records it in a chunk (record/recorder.h). A
 * call with several events is recorded by record/call_events.c, which observe.c calls. The thread
 * in write/writer.c translates chunks (write/translator.c) and writes them to the file of the
 * process. In MPI_Finalize, which record/control.c handles, save/process_file.c completes this
 * file. With format=otf2, save/formats.c then makes an archive in OTF2 from the files of all
 * processes: file/otf2.c opens the module whose sources are in otf2/. There, write_together in
 * module.c reads the files again (file/cursor.c), and events.c converts their events. `qmpi trace
 * --to otf2` (cli/trace.c) makes the archive later, by write_alone in module.c.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/trace/layer.h"
#include "tools/trace/record/control.h"
#include "tools/trace/record/objects.h"
#include "tools/trace/record/observe.h"
#include "tools/trace/record/operation.h"
#include "tools/trace/record/recorder.h"
#include "tools/trace/save/directory.h"
#include "tools/trace/save/formats.h"
#include "tools/trace/save/process_file.h"
#include "tools/trace/write/writer.h"
#include "tools/trace_manifest.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/mpit.h>
#include <qmpi/observer.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Options --------------------------------------------------------------------------------- */

#define LEAST_MEMORY (UINT64_C(1) << 20)
#define MOST_MEMORY UINT64_C(1000000000000)
#define LONGEST UINT64_C(1000000000000000000) /* nanoseconds: 32 years */

static bool read_functions_option(int tool_id, struct layer_options *options)
{
    const char *value;
    options->all_chosen = QMPIX_Tool_get_option(tool_id, "functions", &value) != MPI_SUCCESS;
    if (options->all_chosen) {
        memset(options->chosen, 1, sizeof options->chosen);
        return true;
    }
    char *item = tool_option_functions(value, options->chosen);
    if (!item)
        return true;
    char *problem = qmpi_value_refuse_functions("functions=", item);
    QMPIX_Tool_fail(tool_id, problem);
    free(problem);
    free(item);
    return false;
}

static bool read_words(int tool_id, struct layer_options *options)
{
    static const char *const fulls[] = {"wait", "drop", NULL};
    static const char *const buffers[] = {"file", "ring", NULL};
    int full = 0, buffer = 0;
    if (!formats_read_option(tool_id, &options->format) ||
        !tool_option_word(tool_id, "full", fulls, "give wait or drop", &full) ||
        !tool_option_word(tool_id, "buffer", buffers, "give file or ring", &buffer) ||
        !tool_option_boolean(tool_id, "sites", &options->sites) ||
        !tool_option_boolean(tool_id, "compress", &options->compress))
        return false;
    options->drops = full == 1;
    options->is_ring = buffer == 1;
    return true;
}

/* Refuses keep=, save-signal= and depth= without the options that they require, and an end that is
 * not after the beginning. */
static bool check_combination(int tool_id, const struct layer_options *options)
{
    const char *problem = NULL;
    if (!options->is_ring && (options->history > 0 || options->save_signal))
        problem = "keep= and save-signal= require buffer=ring\nhint: add buffer=ring";
    else if (options->depth > 1 && !options->sites)
        problem = "depth= requires sites=yes\nhint: add sites=yes";
    else if (options->end <= options->begin)
        problem = "end= must be later than begin=\nhint: both are times after MPI_Init";
    if (problem)
        QMPIX_Tool_fail(tool_id, problem);
    return !problem;
}

/* Reads the options of a layer. If one is invalid, reports the failure of the layer with a message
 * and returns false. */
static bool read_trace_options(int tool_id, struct layer_options *options)
{
    *options = (struct layer_options){.end = UINT64_MAX};
    QMPIX_Tool_get_option(tool_id, "regions", &options->regions);
    QMPIX_Tool_get_option(tool_id, "counters", &options->counters);
    return tool_option_file(tool_id, "output", &options->output) && read_words(tool_id, options) &&
           tool_option_size(tool_id, "memory", "of at least 1M", LEAST_MEMORY, MOST_MEMORY,
                            &options->memory) &&
           tool_option_time(tool_id, "keep", NULL, 0, LONGEST, &options->history) &&
           tool_option_time(tool_id, "begin", NULL, 0, LONGEST, &options->begin) &&
           tool_option_time(tool_id, "end", NULL, 0, LONGEST, &options->end) &&
           tool_option_time(tool_id, "interval", NULL, 0, LONGEST, &options->interval) &&
           tool_option_whole(tool_id, "depth", 1, TRACE_SITE_FRAMES_MAX, &options->depth) &&
           tool_option_signal(tool_id, "save-signal", &options->save_signal) &&
           read_functions_option(tool_id, options) &&
           tool_option_set(tool_id, "ranks", &options->ranks) &&
           check_combination(tool_id, options);
}

/* ---- A layer --------------------------------------------------------------------------------- */

static bool name_directory(struct layer *layer, int rank)
{
    char *folder = getcwd(NULL, 0), *pattern = strdup(layer->options.output);
    size_t length = pattern ? strlen(pattern) : 0;
    while (length > 1 && pattern[length - 1] == '/')
        pattern[--length] = '\0';
    const struct tool_output_names names = {.pattern = pattern,
                                            .tool_id = layer->tool_id,
                                            .rank = rank,
                                            .folder = folder,
                                            .is_directory = true,
                                            .is_absolute = true};
    if (pattern && tool_output_make(&layer->output, &names))
        layer->directory = strdup(tool_output_path(&layer->output));
    free(pattern);
    free(folder);
    return layer->directory != NULL;
}

static struct layer *make_layer(int tool_id)
{
    struct timespec now;
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        return NULL;
    layer->tool_id = tool_id;
    layer->start_early = process_file_start_early;
    layer->launcher_rank = qmpi_launcher_rank();
    layer->rank = layer->launcher_rank < 0 ? TRACE_UNDEFINED : layer->launcher_rank;
    layer->objects.world = MPI_GROUP_NULL;
    for (int kind = 0; kind < OBJECT_KINDS; kind++)
        layer->objects.handles[kind].changes = 1;
    pthread_mutex_init(&layer->lock, NULL);
    tool_world_sessions_make(&layer->sessions);
    layer->sites.buckets =
        calloc((size_t)1 << LAYER_SITE_BUCKET_BITS, sizeof *layer->sites.buckets);
    clock_gettime(CLOCK_REALTIME, &now);
    layer->started = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    layer->start_ticks = ticks_now();
    return layer->sites.buckets && pending_make(&layer->operations, sizeof(struct operation)) &&
                   pending_make(&layer->messages, sizeof(struct operation))
               ? layer
               : NULL;
}

/* Determines the directory, and checks that a trace can be written there. */
static bool check_directory(struct layer *layer)
{
    const int rank = layer->launcher_rank < 0 ? 0 : layer->launcher_rank;
    if (!name_directory(layer, rank))
        return false;
    for (const struct layer *other = layer_list; other; other = other->next) {
        if (strcmp(other->directory, layer->directory) != 0)
            continue;
        char *message = qmpi_message("output=%s: layer %d (trace) writes to the same directory\n"
                                     "hint: put %%t (the number of the layer) into output=",
                                     layer->options.output, other->tool_id);
        QMPIX_Tool_fail(layer->tool_id, message);
        free(message);
        return false;
    }
    char *problem = directory_check(layer->directory);
    if (problem)
        QMPIX_Tool_fail(layer->tool_id, problem);
    free(problem);
    return !problem;
}

static bool is_layer_enabled(int tool_id)
{
    int enabled = 1;
    QMPIX_Tool_get_enabled(tool_id, &enabled);
    return enabled != 0;
}

/* Called when a layer is switched on or off. Forgets the objects and requests of a layer that is
 * switched off, because they may be created and freed unnoticed from now on. */
static void stack_changed(int tool_id)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        const bool is_on = is_layer_enabled(tool_id);
        layer_set_off(layer, LAYER_OFF_DISABLED, !is_on);
        if (is_on)
            continue;
        operation_forget_all(layer);
        pthread_mutex_lock(&layer->lock);
        for (int kind = 0; kind < OBJECT_KINDS; kind++)
            handles_clear(&layer->objects.handles[kind]);
        pthread_mutex_unlock(&layer->lock);
    }
}

/* ---- MPI_T variables ------------------------------------------------------------------------- */

static struct layer *published[256]; /* [tool_id] */

/* [tool_id]: the last value that was written to the variable `save`. */
static atomic_int save_values[256];

/* Returns the value that was last written, as MPI 4.0, section 15.3.6 requires for control
 * variables. */
static int read_save(void *user, const void *object, void *buffer, int count)
{
    const struct layer *layer = user;
    const int value = atomic_load(&save_values[layer->tool_id]);
    (void)object;
    (void)count;
    memcpy(buffer, &value, sizeof value);
    return MPI_SUCCESS;
}

/* Makes the writer write what has been recorded, if the value is not 0. */
static int write_save(void *user, const void *object, const void *buffer, int count)
{
    struct layer *layer = user;
    int value;
    (void)object;
    (void)count;
    memcpy(&value, buffer, sizeof value);
    atomic_store(&save_values[layer->tool_id], value);
    if (value)
        process_file_request_save(layer);
    return MPI_SUCCESS;
}

static bool publish_trace_variables(struct layer *layer)
{
    const struct {
        const char *name, *description;
        void *address;
    } counters[] = {
        {"events", "Events that have been written", &layer->writer.events},
        {"dropped", "Records that were lost, because there was no memory left", &layer->dropped},
        {"bytes", "Bytes that have been written", &layer->writer.bytes},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        const QMPIX_Pvar pvar = {.size = sizeof pvar,
                                 .name = counters[i].name,
                                 .description = counters[i].description,
                                 .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                 .datatype = MPI_UNSIGNED_LONG_LONG,
                                 .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
                                 .address = counters[i].address};
        if (QMPIX_Pvar_create(layer->tool_id, &pvar, NULL) != MPI_SUCCESS)
            return false;
    }
    const QMPIX_Cvar save = {.size = sizeof save,
                             .name = "save",
                             .description =
                                 "Each time that it is set to 1, what has been recorded is "
                                 "written to the file",
                             .datatype = MPI_INT,
                             .scope = MPI_T_SCOPE_LOCAL,
                             .read = read_save,
                             .write = write_save,
                             .user = layer};
    return QMPIX_Cvar_create(layer->tool_id, &save, NULL) == MPI_SUCCESS;
}

static void publish_or_say(int tool_id)
{
    if (!publish_trace_variables(published[tool_id]))
        qmpi_printf("trace (layer %d): libqmpi rejects its variables\n  hint: use the trace.so "
                    "that is part of this qmpi",
                    tool_id);
}

/* Publishes the variables when MPI_T is first initialized. */
static void publish_lazily(struct layer *layer)
{
    published[layer->tool_id] = layer;
    QMPIX_Register_publisher(layer->tool_id, publish_or_say);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

static bool register_trace_observer(const struct layer *layer)
{
    enum QMPI_Functions_enum functions[MPI_LAST_FUNC];
    QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = layer->options.sites ? observe_before_with_site : observe_before,
        .after = observe_after,
        .data = (void *)(uintptr_t)layer,
        .functions = functions,
        .flags = QMPIX_OBSERVE_STATUSES | QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_COMMS};
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        int exists = 0;
        QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists);
        if (exists && (layer->options.chosen[number] || traits_are_followed(&traits_all[number])))
            functions[observer.function_count++] = (enum QMPI_Functions_enum)number;
        if (traits_are_controlled(&traits_all[number]))
            QMPIX_Tool_keep_function(layer->tool_id, (enum QMPI_Functions_enum)number);
    }
    tool_world_sessions_retain(layer->tool_id);
    return QMPIX_Register_finalizer(layer->tool_id, control_finalize) == MPI_SUCCESS &&
           QMPIX_Register_tool_observer(layer->tool_id, &observer) == MPI_SUCCESS;
}

/* Stops recording in a forked child, because it has no writer. */
static void stop_in_child(void)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        pthread_mutex_init(&layer->lock, NULL);
        layer_set_off(layer, LAYER_OFF_CHILD | LAYER_OFF_CLOSED, true);
    }
}

static uint64_t find_first_off(const struct layer *layer)
{
    const struct layer_options *options = &layer->options;
    return (options->regions ? LAYER_OFF_REGION : 0U) |
           (options->begin > 0 ? LAYER_OFF_BEGIN : 0U) |
           (is_layer_enabled(layer->tool_id) ? 0U : LAYER_OFF_DISABLED) |
           (layer->launcher_rank >= 0 &&
                    !qmpi_value_set_has(&options->ranks, (uint64_t)layer->launcher_rank)
                ? LAYER_OFF_RANK
                : 0U) |
           (qmpi_getenv("QMPI_CHECK") ? LAYER_OFF_CLOSED : 0U);
}

/* Returns TRACE_OMITS_… for data that are never recorded, or not from the beginning on. */
static unsigned find_omissions(const struct layer *layer)
{
    unsigned omits = layer->options.all_chosen ? 0 : TRACE_OMITS_FUNCTIONS;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        int exists = 0;
        QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists);
        if (exists && !layer->options.chosen[number] && traits_have_messages(&traits_all[number]))
            omits |= TRACE_OMITS_MESSAGES;
    }
    return layer_is_on(layer) ? omits : omits | TRACE_OMITS_BEGINNING;
}

static void library_closed(int tool_id, const char *library, const void *begin, const void *end)
{
    (void)library;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id == tool_id)
            objects_forget_sites(layer, begin, end);
    }
}

static void init_layer(int tool_id)
{
    struct layer *layer = make_layer(tool_id);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    if (!read_trace_options(tool_id, &layer->options) || !check_directory(layer))
        return;
    if (!(layer->pool = record_pool_make(layer->options.memory))) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    ticks_refine();
    arguments_find_size();
    traits_find();
    recorder_start();
    observe_prepare(layer);
    writer_make(layer);
    layer_set_first_off(layer, find_first_off(layer));
    atomic_store(&layer->omits, find_omissions(layer));
    if (!register_trace_observer(layer)) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "trace.so that is part of this qmpi");
        return;
    }
    formats_check(layer);
    publish_lazily(layer);
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    if (layer->options.sites)
        QMPIX_Register_library_closed(tool_id, library_closed);
    tool_output_name_start();
    if (!layer_list)
        pthread_atfork(NULL, NULL, stop_in_child);
    layer_add(layer);
    QMPIX_Clock_request_offsets(tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = TOOL_OPTIONS;
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = options,
    };
    QMPI_Register_tool_name("trace", init_layer);
    QMPIX_Register_tool_info("trace", &info);
}
