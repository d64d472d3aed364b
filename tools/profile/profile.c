/* SPDX-License-Identifier: MIT */
/*
 * profile: where a program's MPI time goes: by function, call site, peer, communicator, file and
 * region, over all ranks. One observer for all functions. Here it joins the stack; record.c notes
 * calls, control.c follows the few that change what is noted, gather.c brings the ranks together.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "layer.h"
#include "path/observe.h"
#include "profile_manifest.h"
#include "pvars.h"
#include "record/comms.h"
#include "record/files.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/record.h"
#include "record/regions.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct layer *profile_layers;
static pid_t owner;

bool profile_is_owner(void)
{
    return owner == getpid();
}

bool profile_is_on(const struct layer *layer)
{
    int enabled = 1;
    QMPIX_Tool_get_enabled(layer->tool_id, &enabled);
    return enabled != 0;
}

bool profile_is_on_for(const struct layer *layer, int number)
{
    int enabled = 1;
    QMPIX_Tool_get_function_enabled(layer->tool_id, (enum QMPI_Functions_enum)number, &enabled);
    return enabled != 0;
}

bool profile_lock(struct layer *layer, bool crashed)
{
    const struct timespec pause = {0, 1000000};
    if (!crashed)
        return !pthread_mutex_lock(&layer->lock);
    /* In the copy of a crashed process, it is never released. */
    for (int tries = 0; tries < 10; tries++) {
        if (!pthread_mutex_trylock(&layer->lock))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void profile_unlock(struct layer *layer, bool locked)
{
    if (locked)
        pthread_mutex_unlock(&layer->lock);
}

/* The first line of what may be a page. */
static char *mpi_version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    PMPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\t')
            *c = ' ';
    }
    return strdup(text);
}

static void note_begin(struct layer *layer)
{
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(layer->begin, sizeof layer->begin, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static struct layer *make_layer(int tool_id)
{
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer || !comms_make(&layer->comms) || !files_make(&layer->files) ||
        !regions_make(&layer->regions) || !receives_make(&layer->receives)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return NULL; /* the run stops, or goes on without this layer: nothing is given back */
    }
    const int rank = qmpi_launcher_rank();
    layer->tool_id = tool_id;
    layer->rank = rank < 0 ? 0 : rank;
    layer->was_on = profile_is_on(layer);
    layer->folder = getcwd(NULL, 0);
    tool_sessions_make(&layer->sessions);
    layer->program = realpath("/proc/self/exe", NULL);
    layer->mpi = mpi_version();
    pthread_mutex_init(&layer->lock, NULL);
    note_begin(layer);
    return layer;
}

static void stack_changed(int tool_id)
{
    for (struct layer *layer = profile_layers; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        if (profile_is_on(layer))
            atomic_store(&layer->was_on, true);
        else
            receives_lose(layer);
    }
}

static void always_on_functions(int tool_id, bool sync)
{
    tool_sessions_retain(tool_id);
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (traits_set_always_on(&traits_all[number], sync))
            QMPIX_Tool_keep_function(tool_id, (enum QMPI_Functions_enum)number);
    }
}

/* The barriers of another layer take the waiting away from this one, or this one's from it. */
static void declare_barriers(int tool_id)
{
    static const char *const barriers[] = {"synchronizes-collectives", NULL};
    QMPIX_Tool_declare(tool_id, 0, barriers, barriers);
}

static void (*before_of(const struct options *options))(const QMPIX_Call *, QMPIX_Word *)
{
    if (options->path)
        return path_observe_before;
    return options->depth == 1 ? observe_before : observe_before_deep;
}

static void init(int tool_id)
{
    const unsigned path_flags =
        QMPIX_OBSERVE_REQUESTS | QMPIX_OBSERVE_ACTS | QMPIX_OBSERVE_ENTRY_TIME;
    struct layer *layer = make_layer(tool_id);
    if (!layer || !profile_options_read(tool_id, &layer->options))
        return;
    if (tool_option_file_is_taken(tool_id, "output", layer->options.output))
        return;
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = before_of(&layer->options),
        .after = layer->options.path ? path_observe_after : observe_after,
        .data = layer,
        .flags =
            QMPIX_OBSERVE_STATUSES | QMPIX_OBSERVE_TIME | (layer->options.path ? path_flags : 0),
    };
    ticks_refine();
    peer_waits_start();
    arguments_find_size();
    traits_find();
    if (layer->options.sync) {
        traits_let_wait();
        declare_barriers(tool_id);
    }
    threads_start();
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS ||
        !publish_lazily(tool_id)) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "profile.so that is part of this qmpi");
        return;
    }
    always_on_functions(tool_id, layer->options.sync);
    if (layer->options.path && !path_start(layer)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    tool_file_name_start();
    owner = getpid();
    layer->next = profile_layers;
    profile_layers = layer;
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = profile_options,
    };
    QMPI_Register_tool_name("profile", init);
    QMPIX_Register_tool_info("profile", &info);
}
