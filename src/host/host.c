/* SPDX-License-Identifier: MIT */
/* See host.h. */
#define _GNU_SOURCE
#include "host.h"

#include "below.h"
#include "cells.h"
#include "copies.h"
#include "family.h"
#include "group.h"
#include "late.h"
#include "loadable.h"
#include "message.h"
#include "names.h"
#include "references.h"
#include "replaces.h"
#include "resident.h"
#include "tool_getenv.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool qmpi_host_is_used;

/*
 * The layer whose library is being loaded, and what was loaded before. Seen by all threads, for a
 * constructor may wait for a thread of its own that calls MPI; kept for the run.
 */
struct loading {
    struct qmpi_layer *layer;
    struct qmpi_group_snapshot before;
};
static struct loading *loading; /* NULL: none */

struct qmpi_layer *qmpi_host_layer_of(const void *address)
{
    const struct qmpi_group *group = qmpi_group_of(address);
    if (group)
        return group->layer;
    const struct loading *now = __atomic_load_n(&loading, __ATOMIC_ACQUIRE);
    return now && !qmpi_group_snapshot_holds(&now->before, address) ? now->layer : NULL;
}

qmpi_function *qmpi_host_way(int number, const void *caller, bool pmpi)
{
    struct qmpi_layer *layer = qmpi_host_layer_of(caller);
    struct qmpi_elf_loaded object;
    if (!layer)
        return NULL;
    const void *own = !pmpi && qmpi_elf_loaded_holder(caller, &object)
                          ? qmpi_elf_loaded_find(&object, qmpi_names[number].name)
                          : NULL;
    return own ? (qmpi_function *)(uintptr_t)own : qmpi_below(layer, number);
}

char *qmpi_host_tool_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!strncmp(name, "lib", 3) && strlen(name) > 3)
        name += 3;
    const char *end = strstr(name, ".so");
    return qmpi_copy_part(name, end && end != name ? (size_t)(end - name) : strlen(name));
}

static char *check_options(const struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (!strncmp(layer->entry->options[i].key, "env.", 4) && layer->entry->options[i].key[4])
            continue;
        char *shown = qmpi_shorten(layer->entry->options[i].key);
        char *problem =
            qmpi_message("a PMPI tool has no option '%s'\nmend: its only options are "
                         "env.NAME=value, which set an environment variable for it alone",
                         shown);
        free(shown);
        return problem;
    }
    return NULL;
}

/* A tool that is a layer already, or whose dependency is another layer's, is loaded from a copy. */
static char *path_to_load(struct qmpi_layer *layer, char **problem)
{
    layer->shares = qmpi_copies_needed(layer->path);
    for (struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        if (group->layer->path && !strcmp(group->layer->path, layer->path))
            return qmpi_copies_make(layer->path, problem);
    }
    void *already = dlopen(layer->path, RTLD_LAZY | RTLD_NOLOAD);
    if (already) {
        dlclose(already);
        return qmpi_copies_make(layer->path, problem);
    }
    return layer->shares ? qmpi_copies_make(layer->path, problem) : qmpi_copy(layer->path);
}

static char *load_library(struct qmpi_layer *layer)
{
    char *problem = NULL;
    struct loading *now = qmpi_allocate(1, sizeof *now);
    now->layer = layer;
    qmpi_group_snapshot_take(&now->before);
    layer->loading = now;
    __atomic_store_n(&loading, now, __ATOMIC_RELEASE);
    struct qmpi_saved_environment *saved = qmpi_tool_getenv_enter(layer);
    char *path = path_to_load(layer, &problem);
    /* Lazily, as when it is preloaded: tools refer to functions that only some programs bring. */
    void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    struct link_map *map = NULL;
    if (handle)
        dlinfo(handle, RTLD_DI_LINKMAP, &map);
    else if (path)
        problem = qmpi_loadable_explain(
            path, dlerror(),
            strcmp(path, layer->path) ? "install what it needs, or set TMPDIR to a folder from "
                                        "which libraries can be loaded"
                                      : "install what it needs");
    qmpi_tool_getenv_leave(saved);
    free(path);
    layer->group = problem ? NULL : qmpi_group_make(layer, &now->before, map ? map->l_addr : 0);
    __atomic_store_n(&loading, NULL, __ATOMIC_RELEASE);
    return problem;
}

static qmpi_function *find_function(const struct qmpi_group *group, int number)
{
    void *found = NULL;
    for (int i = 0; !found && i < group->count; i++)
        found = qmpi_elf_loaded_find_hashed(&group->objects[i], qmpi_names[number].name,
                                            qmpi_name_hashes[number].mpi);
    return (qmpi_function *)(uintptr_t)found;
}

static void find_functions(struct qmpi_layer *layer)
{
    for (int number = 0; number < qmpi_name_count; number++) {
        if (qmpi_names[number].exists)
            layer->functions[number] = find_function(layer->group, number);
    }
}

static struct qmpi_tool *describe(const char *path)
{
    struct qmpi_tool *tool = qmpi_allocate(1, sizeof *tool);
    tool->name = qmpi_host_tool_name(path);
    tool->path = qmpi_copy(path);
    return tool;
}

/* Loaded by us, a tool's functions are not in the program's way: those of MPI alone are called. */
static void say_what_is_missed(const struct qmpi_layer *layer)
{
    const char *preload = layer->entry->own[QMPI_OWN_PRELOAD];
    const bool wished = preload && !strcmp(preload, "no");
    char *replaced =
        layer->resident || wished ? NULL : qmpi_replaces(&layer->group->objects[0].image);
    if (replaced && qmpi_speaks())
        qmpi_sayf(
            "layer %d (%s) also replaces %s, outside MPI: of those it does not see the program's "
            "calls\n  mend: `qmpi run` preloads the first layer of such a tool, which then does",
            layer->tool_id, layer->name, replaced);
    free(replaced);
}

static char *describe_binding(const struct qmpi_layer *layer, const struct qmpi_references *counts)
{
    char *text =
        qmpi_format("%s; reaches PMPI by %d call, %d table and %d data references%s",
                    layer->resident ? "hosted, preloaded or linked" : "hosted", counts->calls,
                    counts->got, counts->data, counts->dlsym ? ", and by dlsym" : "");
    for (int i = 1; i < layer->group->count; i++) {
        char *longer = qmpi_format("%s%s%s", text, i == 1 ? "; private dependencies: " : ", ",
                                   layer->group->objects[i].name);
        free(text);
        text = longer;
    }
    return text;
}

char *qmpi_host_load(struct qmpi_layer *layer)
{
    struct qmpi_references counts = {0, 0, 0, 0};
    char *problem = check_options(layer);
    qmpi_host_is_used = true;
    if (problem)
        return problem;
    if (layer->resident) {
        layer->resident->layer = layer;
        int count = 1;
        struct qmpi_elf_loaded *family =
            layer->resident->program ? NULL : qmpi_family_of(&layer->resident->object, &count);
        layer->group = qmpi_group_adopt(layer, family ? family : &layer->resident->object, count);
        free(family);
        qmpi_late_settle(layer->resident);
    } else {
        problem = load_library(layer);
    }
    const bool program = layer->resident && layer->resident->program;
    for (int i = 0; !problem && i < layer->group->count; i++) {
        problem =
            qmpi_references_rewrite(layer->group, &layer->group->objects[i], program, &counts);
        qmpi_cells_note(layer->group, &layer->group->objects[i], program);
    }
    if (problem)
        return problem;
    find_functions(layer);
    layer->tool = describe(layer->path);
    layer->name = layer->tool->name;
    layer->details = describe_binding(layer, &counts);
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d: tool %s from %s: %s", layer->tool_id, layer->name,
               layer->path, layer->details);
    say_what_is_missed(layer);
    return NULL;
}
