/* SPDX-License-Identifier: MIT */
/*
 * trace: a timeline of the run. One observer for all functions records what each thread does; a
 * thread of the tool writes it to a file for each process. Here it joins the stack;
 * record/observe.c records calls, write/writer.c writes them, record/control.c follows the
 * beginning and end of MPI.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "layer.h"
#include "publish.h"
#include "record/observe.h"
#include "record/recorder.h"
#include "record/requests.h"
#include "record/switches.h"
#include "save/archive.h"
#include "save/directory.h"
#include "save/start.h"
#include "trace_manifest.h"
#include "util/util.h"
#include "write/writer.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct layer *trace_layers;
static pid_t owner;

bool trace_is_owner(void)
{
    return owner == getpid();
}

/* ---- A layer --------------------------------------------------------------------------------- */

static char *directory_of(int tool_id, const char *pattern, int rank)
{
    char *name = tool_file_name(pattern, tool_id, rank), *here = NULL, *path = NULL;
    size_t length = name ? strlen(name) : 0;
    while (length > 1 && name[length - 1] == '/')
        name[--length] = '\0';
    if (!name || *name == '/')
        return name;
    here = getcwd(NULL, 0);
    if (!here)
        return name;
    if (asprintf(&path, "%s/%s", here, name) < 0)
        path = NULL;
    free(here);
    free(name);
    return path;
}

static struct layer *make_layer(int tool_id)
{
    struct timespec now;
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        return NULL;
    layer->tool_id = tool_id;
    layer->start_early = start_early;
    layer->launcher_rank = qmpi_launcher_rank();
    layer->rank = layer->launcher_rank < 0 ? TRACE_UNDEFINED : layer->launcher_rank;
    layer->objects.world = MPI_GROUP_NULL;
    for (int kind = 0; kind < OBJECT_KINDS; kind++)
        layer->objects.handles[kind].changes = 1;
    pthread_mutex_init(&layer->lock, NULL);
    tool_sessions_make(&layer->sessions);
    layer->sites.buckets = calloc((size_t)1 << SITE_BUCKET_BITS, sizeof *layer->sites.buckets);
    clock_gettime(CLOCK_REALTIME, &now);
    layer->started = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    layer->start_ticks = ticks_now();
    return layer->sites.buckets && pending_make(&layer->operations, sizeof(struct operation)) &&
                   pending_make(&layer->messages, sizeof(struct operation))
               ? layer
               : NULL;
}

/* Where the trace is to be written, if it can be. */
static bool find_directory(struct layer *layer)
{
    const int rank = layer->launcher_rank < 0 ? 0 : layer->launcher_rank;
    layer->directory = directory_of(layer->tool_id, layer->options.output, rank);
    if (!layer->directory)
        return false;
    for (const struct layer *other = trace_layers; other; other = other->next) {
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

static bool is_enabled(int tool_id)
{
    int enabled = 1;
    QMPIX_Tool_get_enabled(tool_id, &enabled);
    return enabled != 0;
}

/* While it is off, objects and requests come and go unseen. */
static void stack_changed(int tool_id)
{
    for (struct layer *layer = trace_layers; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        const bool is_on = is_enabled(tool_id);
        switches_set(layer, OFF_ENABLED, !is_on);
        if (is_on)
            continue;
        requests_lose(layer);
        pthread_mutex_lock(&layer->lock);
        for (int kind = 0; kind < OBJECT_KINDS; kind++)
            handles_clear(&layer->objects.handles[kind]);
        pthread_mutex_unlock(&layer->lock);
    }
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

static bool observe(const struct layer *layer)
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
    tool_sessions_retain(layer->tool_id);
    return QMPIX_Register_tool_observer(layer->tool_id, &observer) == MPI_SUCCESS;
}

/* In a forked child nothing is recorded: it has no writer. */
static void leave_child(void)
{
    for (struct layer *layer = trace_layers; layer; layer = layer->next) {
        pthread_mutex_init(&layer->lock, NULL);
        switches_set(layer, OFF_CHILD | OFF_CLOSED, true);
    }
}

static uint64_t first_reasons(const struct layer *layer)
{
    const struct options *options = &layer->options;
    return (options->regions ? OFF_REGION : 0U) | (options->begin > 0 ? OFF_BEGIN : 0U) |
           (is_enabled(layer->tool_id) ? 0U : OFF_ENABLED) |
           (layer->launcher_rank >= 0 &&
                    !qmpi_number_set_has(&options->ranks, (uint64_t)layer->launcher_rank)
                ? OFF_RANK
                : 0U) |
           (qmpi_getenv("QMPI_CHECK") ? OFF_CLOSED : 0U);
}

/* What is never recorded, or not from the beginning on: see TRACE_OMITS_…. */
static unsigned find_omits(const struct layer *layer)
{
    unsigned omits = layer->options.all_chosen ? 0 : TRACE_OMITS_FUNCTIONS;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        int exists = 0;
        QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists);
        if (exists && !layer->options.chosen[number] && traits_have_messages(&traits_all[number]))
            omits |= TRACE_OMITS_MESSAGES;
    }
    return switches_are_on(layer) ? omits : omits | TRACE_OMITS_BEGINNING;
}

static void init(int tool_id)
{
    struct layer *layer = make_layer(tool_id);
    if (!layer) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    if (!trace_options_read(tool_id, &layer->options) || !find_directory(layer))
        return;
    if (!chunk_pool_make(&layer->pool, layer->options.memory)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    ticks_refine();
    arguments_find_size();
    traits_find();
    recorders_start();
    observe_prepare(layer);
    writer_make(layer);
    switches_make(layer, first_reasons(layer));
    atomic_store(&layer->omits, find_omits(layer));
    if (!observe(layer)) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "trace.so that is part of this qmpi");
        return;
    }
    archive_check(layer);
    publish_lazily(layer);
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    tool_file_name_start();
    if (!trace_layers)
        pthread_atfork(NULL, NULL, leave_child);
    owner = getpid();
    layer->next = trace_layers;
    trace_layers = layer;
    QMPIX_Clock_request_offsets(tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = trace_options,
    };
    QMPI_Register_tool_name("trace", init);
    QMPIX_Register_tool_info("trace", &info);
}
