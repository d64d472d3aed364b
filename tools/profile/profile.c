/* SPDX-License-Identifier: MIT */
/*
 * profile: where a program's MPI time goes: by function, call site, peer, communicator, file and
 * region, over all ranks. One observer for all functions. Here it joins the stack; observe.c notes
 * calls, steer.c follows the few that change what is noted, gather.c brings the ranks together.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "facts.h"
#include "file_name.h"
#include "layer.h"
#include "message.h"
#include "modules.h"
#include "observe.h"
#include "publish.h"
#include "sites.h"

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

bool profile_lock(struct layer *layer, bool crashed)
{
    const struct timespec pause = {0, 1000000};
    if (!crashed)
        return !pthread_mutex_lock(&layer->lock);
    /* In the copy of a struck process nobody is there to give it back. */
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

/* Two layers that write one file would lose one's result. */
static bool output_is_taken(const struct layer *layer)
{
    bool taken = false;
    char *mine =
        layer->options.output ? tool_file_name(layer->options.output, layer->tool_id, 0) : NULL;
    for (const struct layer *other = profile_layers; other && mine; other = other->next) {
        const char *pattern = other->options.output;
        char *its = pattern ? tool_file_name(pattern, other->tool_id, 0) : NULL;
        taken |= its && !strcmp(mine, its);
        free(its);
    }
    free(mine);
    return taken;
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
        !regions_make(&layer->regions)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return NULL; /* the run stops, or goes on without this layer: nothing is given back */
    }
    const int rank = qmpi_launcher_rank();
    layer->tool_id = tool_id;
    layer->rank = rank < 0 ? 0 : rank;
    layer->folder = getcwd(NULL, 0);
    layer->mpi = mpi_version();
    pthread_mutex_init(&layer->lock, NULL);
    note_begin(layer);
    return layer;
}

static void init(int tool_id)
{
    struct layer *layer = make_layer(tool_id);
    if (!layer || !profile_options_read(tool_id, &layer->options))
        return;
    if (output_is_taken(layer)) {
        QMPIX_Tool_fail(tool_id, "another layer of profile writes the same file\nmend: put %t (the "
                                 "layer's number) into output=");
        return;
    }
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = observe_before,
        .after = observe_after,
        .data = layer,
        .flags = QMPIX_OBSERVE_STATUSES,
    };
    tool_clock_start();
    facts_find();
    sites_start();
    modules_program();
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS ||
        !publish_on_demand(tool_id)) {
        QMPIX_Tool_fail(tool_id, "libqmpi takes no observer of this tool's kind\nmend: use the "
                                 "profile.so that came with it");
        return;
    }
    owner = getpid();
    layer->next = profile_layers;
    profile_layers = layer;
}

__attribute__((constructor)) static void announce(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = "where MPI time goes: functions, call sites, peers, communicators, regions",
        .version = QMPI_VERSION,
        .options = profile_options,
    };
    QMPI_Register_tool_name("profile", init);
    QMPIX_Register_tool_info("profile", &info);
}
