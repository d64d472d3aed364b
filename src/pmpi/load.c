/* SPDX-License-Identifier: MIT */
/* See pmpi.h. */
#define _GNU_SOURCE
#include "pmpi/load.h"

#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/copies_made.h"
#include "pmpi/deferred.h"
#include "pmpi/environ.h"
#include "pmpi/library_copy.h"
#include "pmpi/next.h"
#include "pmpi/opening.h"
#include "pmpi/owner.h"
#include "pmpi/relocate.h"
#include "pmpi/relocations.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A variable's name, by custom. */
static bool is_variable(const char *name)
{
    return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static char *check_options(const struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (!strncmp(layer->entry->options[i].key, "env.", 4) && layer->entry->options[i].key[4])
            continue;
        const struct qmpi_option *option = &layer->entry->options[i];
        char *shown = qmpi_shorten(option->key);
        char *setting = is_variable(option->key)
                            ? qmpi_message(": write env.%s=%s", option->key, option->value)
                            : qmpi_copy("");
        char *problem =
            qmpi_message("a PMPI tool has no option '%s'\nhint: use env.NAME=value, its only "
                         "option, to set an environment variable for this layer alone%s",
                         shown, setting);
        free(setting);
        free(shown);
        return problem;
    }
    return NULL;
}

/* Whether the tool is a layer already, or loaded for somebody else. */
static bool is_again(const struct qmpi_layer *layer)
{
    for (const struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        if (group->layer->path && qmpi_elf_file_same(group->layer->path, layer->path))
            return true;
    }
    void *already = dlopen(layer->path, RTLD_LAZY | RTLD_NOLOAD);
    if (already)
        dlclose(already);
    return already != NULL;
}

/* Opens the tool's library, or its copy. */
static char *open_library(struct qmpi_layer *layer, const char *path, struct qmpi_group **group)
{
    struct qmpi_saved_environment *saved = qmpi_tool_getenv_enter(layer);
    struct qmpi_opening *opening = qmpi_opening_begin(layer, path);
    /* Lazily, as when it is preloaded: tools refer to functions that only some programs bring. */
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *reason = handle ? NULL : dlerror();
    qmpi_tool_getenv_leave(saved);
    *group = qmpi_opening_end(opening, handle);
    if (handle)
        return NULL;
    return qmpi_loadable_explain(path, reason,
                                 strcmp(path, layer->path)
                                     ? "install its dependencies, or set TMPDIR to a directory "
                                       "from which libraries can be loaded"
                                     : "install its dependencies");
}

static char *load_library(struct qmpi_layer *layer, struct qmpi_group **group)
{
    char *problem = NULL;
    layer->again = is_again(layer);
    struct qmpi_copies copies = {.layer = layer, .path = layer->path};
    char *path = qmpi_copies_make(&copies, &problem);
    layer->shares = copies.shares;
    if (path)
        problem = open_library(layer, path, group);
    if (problem && !copies.needed && (!path || strcmp(path, layer->path) != 0)) {
        qmpi_debug(QMPI_TOPIC_LOAD, "%s is loaded without copies: %-s", layer->path, problem);
        free(problem);
        layer->shares = false;
        problem = open_library(layer, layer->path, group);
    }
    free(path);
    return problem;
}

/* A tool that was there before. */
static struct qmpi_group *adopt_preloaded(struct qmpi_layer *layer)
{
    struct qmpi_preloaded_tool *preloaded = layer->preloaded;
    preloaded->layer = layer;
    qmpi_deferred_resolve(preloaded);
    return preloaded->program ? qmpi_group_make(layer, &preloaded->object, 1, NULL)
                              : qmpi_opening_adopt(layer, &preloaded->object);
}

/* The first object that defines a function has it. */
static void find_functions(struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->group->count; i++) {
        const struct qmpi_elf_loaded *object = &layer->group->objects[i];
        const size_t count = qmpi_elf_symbol_count(&object->image);
        for (size_t k = 0; k < count; k++) {
            const ElfW(Sym) *symbol = &object->image.symbols[k];
            const char *name = qmpi_elf_string(&object->image, symbol->st_name);
            const int number =
                name[0] == 'M' && qmpi_elf_defines(symbol) ? qmpi_name_find(name) : -1;
            if (number >= 0 && qmpi_names[number].exists && !layer->functions[number])
                layer->functions[number] =
                    (qmpi_function *)(uintptr_t)qmpi_elf_loaded_address(object, symbol);
        }
    }
}

static struct qmpi_tool *describe(const char *path)
{
    struct qmpi_tool *tool = qmpi_allocate(1, sizeof *tool);
    tool->name = qmpi_preloaded_tool_name(path);
    tool->path = qmpi_copy(path);
    return tool;
}

/* Whether the layer starts switched off: `qmpi run` may have preloaded it only where it does not.
 */
static bool starts_off(const struct qmpi_layer *layer)
{
    const struct qmpi_place place = qmpi_place_here(qmpi_launcher_rank());
    char *unmet = qmpi_condition_unmet(layer->entry, &place);
    const bool off = unmet != NULL;
    free(unmet);
    return off;
}

/* Loaded by us, a tool's functions are not in the program's way: those of MPI alone are called. */
static void say_what_is_missed(const struct qmpi_layer *layer)
{
    const char *preload = layer->entry->reserved[QMPI_RESERVED_PRELOAD];
    const bool wished = (preload && !strcmp(preload, "no")) || starts_off(layer);
    char *replaced =
        layer->preloaded || wished ? NULL : qmpi_replaces(&layer->group->objects[0].image);
    if (replaced && qmpi_is_reporting_process())
        qmpi_printf("layer %d (%s) also replaces functions outside MPI (%s), but does not see the "
                    "program's calls of them\n  hint: start the program with `qmpi run`, which "
                    "preloads the first layer of such a tool",
                    layer->tool_id, layer->name, replaced);
    free(replaced);
}

static char *describe_binding(const struct qmpi_layer *layer,
                              const struct qmpi_relocation_counts *counts)
{
    char *text = qmpi_format("%s; reaches PMPI through %d call, %d table and %d data references%s",
                             layer->preloaded ? "PMPI tool, preloaded or linked" : "PMPI tool",
                             counts->calls, counts->got, counts->data,
                             counts->dlsym ? ", and through dlsym" : "");
    for (int i = 1; i < layer->group->count; i++) {
        char *longer = qmpi_format("%s%s%s", text, i == 1 ? "; private dependencies: " : ", ",
                                   qmpi_copies_original(layer->group->objects[i].name));
        free(text);
        text = longer;
    }
    if (layer->group->shares) { /* qmpi check looks for these words */
        char *longer = qmpi_format("%s; shares %s", text, layer->group->shares);
        free(text);
        text = longer;
    }
    return text;
}

/* Points the references of a group to the layer below. */
static char *bind_group(const struct qmpi_group *group, struct qmpi_relocation_counts *counts)
{
    const struct qmpi_preloaded_tool *preloaded = group->layer->preloaded;
    const bool program = preloaded && preloaded->program;
    char *problem = NULL;
    for (int i = 0; i < group->count && !problem; i++) {
        problem = qmpi_relocate_object(group, &group->objects[i], program, counts);
        qmpi_relocations_record(group, &group->objects[i], program);
    }
    return problem;
}

/* Makes `first` the layer's own, and binds it and what the tool has opened in its constructors. */
static char *bind_groups(struct qmpi_layer *layer, struct qmpi_group *first,
                         struct qmpi_relocation_counts *counts)
{
    char *problem = NULL;
    qmpi_chain_hold(); /* a thread of the tool's may be opening something right now */
    layer->group = first;
    for (struct qmpi_group *group = qmpi_group_first(); group && !problem; group = group->next) {
        if (group->layer == layer)
            problem = bind_group(group, counts);
    }
    qmpi_chain_release();
    return problem;
}

void qmpi_pmpi_add_object(struct qmpi_group *group, bool shares)
{
    struct qmpi_relocation_counts counts = {0, 0, 0, 0};
    qmpi_chain_hold();
    group->layer->shares |= shares;
    if (!group->layer->group) { /* it is being loaded, and this will be done then */
        qmpi_chain_release();
        return;
    }
    char *problem = bind_group(group, &counts);
    qmpi_chain_release();
    if (problem && qmpi_is_reporting_process())
        qmpi_printf("layer %d (%s): calls of %s bypass the layers below: %-s",
                    group->layer->tool_id, group->layer->name, group->objects[0].name, problem);
    free(problem);
}

char *qmpi_pmpi_load(struct qmpi_layer *layer)
{
    struct qmpi_relocation_counts counts = {0, 0, 0, 0};
    char *problem = check_options(layer);
    qmpi_pmpi_is_used = true;
    if (problem)
        return problem;
    struct qmpi_group *group = NULL;
    if (layer->preloaded)
        group = adopt_preloaded(layer);
    else
        problem = load_library(layer, &group);
    if (!problem)
        problem = bind_groups(layer, group, &counts);
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
