/* SPDX-License-Identifier: MIT */
/* See pmpi.h. */
#define _GNU_SOURCE
#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/copies.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Whether a name looks like that of an environment variable. */
static bool looks_like_variable(const char *name)
{
    return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static char *check_options(const struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (!strncmp(layer->entry->options[i].key, "env.", 4) && layer->entry->options[i].key[4])
            continue;
        const struct qmpi_tool_option *option = &layer->entry->options[i];
        char *shown = qmpi_message_shorten(option->key);
        char *setting = looks_like_variable(option->key)
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

/* Whether the library of the tool is in the process already, for another layer or because the
 * program loaded it. */
static bool is_loaded_already(const struct qmpi_layer *layer)
{
    for (const struct qmpi_layer_group *group = qmpi_layer_group_first(); group;
         group = group->next) {
        if (group->layer->path && qmpi_elf_file_same(group->layer->path, layer->path))
            return true;
    }
    void *already = dlopen(layer->path, RTLD_LAZY | RTLD_NOLOAD);
    if (already)
        dlclose(already);
    return already != NULL;
}

/* Opens the tool's library, or its copy. */
static char *open_library(struct qmpi_layer *layer, const char *path,
                          struct qmpi_layer_group **group)
{
    struct qmpi_interpose_saved *saved = qmpi_interpose_enter_environ(layer);
    struct qmpi_closure_opening *opening = qmpi_closure_begin_opening(layer, path);
    /* Binds lazily, as for a preloaded library, because tools refer to functions that only some
     * programs define. */
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *reason = handle ? NULL : dlerror();
    qmpi_interpose_leave_environ(saved);
    *group = qmpi_closure_end_opening(opening, handle);
    if (qmpi_closure_opening_is_lost(opening))
        qmpi_memory_exhausted();
    if (handle)
        return NULL;
    return qmpi_loadable_explain(path, reason,
                                 strcmp(path, layer->path)
                                     ? "install its dependencies, or set TMPDIR to a directory "
                                       "from which libraries can be loaded"
                                     : "install its dependencies");
}

static char *load_library(struct qmpi_layer *layer, struct qmpi_layer_group **group)
{
    char *problem = NULL;
    layer->again = is_loaded_already(layer);
    struct qmpi_copies copies = {.layer = layer, .path = layer->path};
    char *path = qmpi_copies_make(&copies, &problem);
    layer->has_copies = copies.has_copies;
    if (path)
        problem = open_library(layer, path, group);
    if (problem && !copies.needed && (!path || strcmp(path, layer->path) != 0)) {
        qmpi_debug(QMPI_TOPIC_LOAD, "%s is loaded without copies: %-s", layer->path, problem);
        free(problem);
        layer->has_copies = false;
        problem = open_library(layer, layer->path, group);
    }
    free(path);
    return problem;
}

/* Uses a tool that is already in the process. */
static struct qmpi_layer_group *adopt_preloaded(struct qmpi_layer *layer)
{
    struct qmpi_preloaded_tool *preloaded = layer->preloaded;
    preloaded->layer = layer;
    qmpi_thunk_resolve_deferred(preloaded);
    return preloaded->program ? qmpi_closure_adopt_program(layer, &preloaded->object)
                              : qmpi_closure_adopt(layer, &preloaded->object);
}

/* Sets the functions of the layer, each to its first definition in the order of the objects. */
static void find_tool_functions(struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->group->count; i++) {
        const struct qmpi_elf_loaded *object = &layer->group->objects[i];
        const size_t count = qmpi_elf_symbol_count(&object->image);
        for (size_t k = 0; k < count; k++) {
            const ElfW(Sym) *symbol = &object->image.symbols[k];
            const char *name = qmpi_elf_string(&object->image, symbol->st_name);
            const int number =
                name[0] == 'M' && qmpi_elf_defines(symbol) ? qmpi_function_find(name) : -1;
            if (number >= 0 && qmpi_names[number].exists && !layer->functions[number])
                layer->functions[number] =
                    (qmpi_function *)(uintptr_t)qmpi_elf_loaded_address(object, symbol);
        }
    }
}

static struct qmpi_tool *create_tool(const char *path)
{
    struct qmpi_tool *tool = qmpi_allocate(1, sizeof *tool);
    tool->name = qmpi_object_tool_name(path);
    tool->path = qmpi_copy(path);
    return tool;
}

/* Whether the layer starts switched off. If so, `qmpi run` does not preload it in this process. */
static bool starts_off(const struct qmpi_layer *layer)
{
    const struct qmpi_condition_place place = qmpi_condition_place_here(qmpi_launcher_rank());
    char *unmet = qmpi_condition_unmet(layer->entry, &place);
    const bool off = unmet != NULL;
    free(unmet);
    return off;
}

/* Warns if the program's calls of functions outside MPI do not reach the tool, because it was not
 * preloaded. */
static void warn_of_interposed(const struct qmpi_layer *layer)
{
    const char *preload = layer->entry->reserved[QMPI_RESERVED_PRELOAD];
    const bool accepted = (preload && !strcmp(preload, "no")) || starts_off(layer);
    char *interposed = layer->preloaded || accepted
                           ? NULL
                           : qmpi_loadable_interposed(&layer->group->objects[0].image);
    if (interposed && qmpi_launcher_reports())
        qmpi_printf("layer %d (%s) also replaces functions outside MPI (%s), but does not see the "
                    "program's calls of them\n  hint: start the program with `qmpi run`, which "
                    "preloads the first layer of such a tool",
                    layer->tool_id, layer->name, interposed);
    free(interposed);
}

static char *describe_layer(const struct qmpi_layer *layer,
                            const struct qmpi_relocate_counts *counts)
{
    char *text = qmpi_format("%s; reaches PMPI through %d call, %d table and %d data references%s",
                             layer->preloaded ? "PMPI tool, preloaded or linked" : "PMPI tool",
                             counts->calls, counts->got, counts->data,
                             counts->dlsym ? ", and through dlsym" : "");
    for (int i = 1; i < layer->group->count; i++) {
        char *longer = qmpi_format("%s%s%s", text, i == 1 ? "; private dependencies: " : ", ",
                                   qmpi_elf_copy_original(layer->group->objects[i].name));
        free(text);
        text = longer;
    }
    text = qmpi_fortran_wrappers_describe(layer, text);
    if (layer->group->shares) { /* qmpi check searches the output for these words */
        char *longer = qmpi_format("%s; shares %s", text, layer->group->shares);
        free(text);
        text = longer;
    }
    return text;
}

/* Changes the references of the tool, whose group is `first`, and of the libraries that it has
 * opened in its constructors. */
static char *relocate_layer(struct qmpi_layer *layer, struct qmpi_layer_group *first,
                            struct qmpi_relocate_counts *counts)
{
    char *problem = NULL;
    qmpi_chain_hold(); /* a thread of the tool may be opening a library now */
    layer->group = first;
    for (struct qmpi_layer_group *group = qmpi_layer_group_first(); group && !problem;
         group = group->next) {
        if (group->layer == layer)
            problem = qmpi_relocate_group(group, counts);
    }
    qmpi_chain_release();
    return problem;
}

/*
 * Opens the library, or a copy of it if one is needed (copies.h); its objects then belong to the
 * layer (closure.c). Changes their references to PMPI_X so that they lead to the layer below
 * (relocate.c). Finds the functions MPI_X that they define, which start-up adds to the chains
 * (build_layer in startup/startup.c). If the layer is on top of a chain, the entry point jumps
 * directly to its MPI_X (target_of in dispatch/chain.c). A QMPI layer above reaches it by
 * pmpi_adapter_X (generate/emit_c.py), and a PMPI layer above by a thunk (thunk.c).
 */
char *qmpi_pmpi_load(struct qmpi_layer *layer)
{
    struct qmpi_relocate_counts counts = {0, 0, 0, 0};
    char *problem = check_options(layer);
    qmpi_pmpi_is_used = true;
    if (problem)
        return problem;
    struct qmpi_layer_group *group = NULL;
    if (layer->preloaded)
        group = adopt_preloaded(layer);
    else
        problem = load_library(layer, &group);
    if (!problem)
        problem = relocate_layer(layer, group, &counts);
    if (problem)
        return problem;
    find_tool_functions(layer);
    layer->tool = create_tool(layer->path);
    layer->name = layer->tool->name;
    problem = qmpi_fortran_wrappers_check(layer);
    if (problem)
        return problem;
    layer->details = describe_layer(layer, &counts);
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d: tool %s from %s: %s", layer->tool_id, layer->name,
               layer->path, layer->details);
    warn_of_interposed(layer);
    return NULL;
}

/* ---- Libraries that a tool opens ------------------------------------------------------------- */

/* A library that a tool opens with dlopen. */
struct tool_opening {
    struct qmpi_layer *layer;
    const char *file; /* the name in the tool's call */
    int mode;
    const void *caller;
    void *handle;
    bool is_open; /* `handle` is the result of dlopen */
    struct qmpi_layer_group *group;
    char *problem; /* why its references cannot lead to the layers below */
};

static void say_bypass(const struct qmpi_layer *layer, const char *name, const char *problem)
{
    if (qmpi_launcher_reports())
        qmpi_printf("layer %d (%s): calls of %s bypass the layers below: %-s", layer->tool_id,
                    layer->name, name, problem);
}

/* Called under the lock of the chains. */
static void relocate_opened_group(void *data)
{
    struct qmpi_relocate_counts counts = {0, 0, 0, 0};
    struct tool_opening *it = data;
    if (it->layer->group) /* otherwise, the tool is being loaded, and relocate_layer will follow */
        it->problem = qmpi_relocate_group(it->group, &counts);
}

/* Changes the references of a library that a tool has opened. `has_copies`: some of its objects are
 * copies. */
static void relocate_opened(struct tool_opening *it, bool has_copies)
{
    qmpi_chain_hold();
    it->layer->has_copies |= has_copies;
    qmpi_memory_call_locked(relocate_opened_group, it, qmpi_chain_release);
    if (it->problem)
        say_bypass(it->layer, it->group->objects[0].name, it->problem);
    free(it->problem);
}

void *(*qmpi_real_dlopen)(const char *file, int mode);

/* A sanitizer may call dlopen before its shadow memory exists. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static void find_real_dlopen(void)
{
    void *found = qmpi_next_symbol("dlopen");
    if (!found)
        abort(); /* all known C libraries define it */
    __atomic_store_n(&qmpi_real_dlopen, (void *(*)(const char *, int))(uintptr_t)found,
                     __ATOMIC_RELEASE);
}

EARLY struct qmpi_layer *qmpi_pmpi_dlopen_layer(const void *caller)
{
    if (!__atomic_load_n(&qmpi_real_dlopen, __ATOMIC_ACQUIRE))
        find_real_dlopen();
    return qmpi_pmpi_is_used ? qmpi_pmpi_layer_of(caller) : NULL;
}

/*
 * Whether the library `file` is in the process already and the layer shares it. If the tool's own
 * library was in the process already, the layer shares no library that belongs to another layer:
 * the result is false for such a library, and *path is set to its path unless it was set before.
 * The caller frees *path.
 */
static bool is_shared(const struct qmpi_layer *layer, const char *file, char **path)
{
    struct link_map *map = NULL;
    void *handle = qmpi_real_dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    const struct qmpi_layer_group *group =
        layer->again && map ? qmpi_layer_group_of(map->l_ld) : NULL;
    const bool other = group && group->layer != layer;
    if (other && !*path)
        *path = qmpi_copy(map->l_name);
    dlclose(handle);
    return !other;
}

/* Returns the file that dlopen would find for a name if the original of the calling object called
 * dlopen; NULL: none. The caller frees the text. */
static char *find_opened_file(const char *file, const void *caller)
{
    struct qmpi_elf_loaded object;
    if (!qmpi_elf_loaded_containing(caller, &object))
        return NULL;
    return qmpi_elf_search(&object.image, qmpi_elf_copy_original(object.name), file);
}

static void open_plainly(struct tool_opening *it, const char *file)
{
    it->handle = qmpi_real_dlopen(file, it->mode);
    it->is_open = true;
}

static void open_for_layer(struct tool_opening *it, const char *path)
{
    struct qmpi_layer *layer = it->layer;
    char *problem = NULL;
    struct qmpi_copies copies = {.layer = layer, .path = path, .opened = true};
    char *chosen = qmpi_copies_make(&copies, &problem);
    if (problem && qmpi_launcher_reports())
        qmpi_printf("layer %d (%s) opens %s, which cannot be copied: %-s", layer->tool_id,
                    layer->name, path, problem);
    free(problem);
    if (!chosen) {
        open_plainly(it, path);
        return;
    }
    struct qmpi_closure_opening *opening = qmpi_closure_begin_opening(layer, chosen);
    it->handle = qmpi_real_dlopen(chosen, it->mode | RTLD_NODELETE);
    it->is_open = true;
    it->group = qmpi_closure_end_opening(opening, it->handle);
    if (qmpi_closure_opening_is_lost(opening))
        qmpi_memory_exhausted();
    if (it->group)
        relocate_opened(it, copies.has_copies);
    free(chosen);
}

static void open_for_tool(void *data)
{
    struct tool_opening *it = data;
    struct qmpi_layer *layer = it->layer;
    const char *file = it->file;
    char *path = NULL;
    if (!is_shared(layer, file, &path)) {
        if (!path)
            path = find_opened_file(file, it->caller);
        if (path && !is_shared(layer, path, &path))
            open_for_layer(it, path);
    }
    if (!it->is_open)
        open_plainly(it, path ? path : file);
    free(path);
}

void *qmpi_pmpi_dlopen(const char *file, int mode, struct qmpi_layer *layer, const void *caller)
{
    const char *copy = file && *file ? qmpi_copies_find(layer, file) : NULL;
    struct tool_opening it = {.layer = layer, .file = file, .mode = mode, .caller = caller};
    if (copy)
        return qmpi_real_dlopen(copy, mode);
    if (!file || !*file || mode & RTLD_NOLOAD)
        return qmpi_real_dlopen(file, mode);
    if (!qmpi_memory_catch_exhausted(open_for_tool, &it)) {
        if (!it.is_open)
            open_plainly(&it, file);
        if (it.handle)
            say_bypass(layer, file, "out of memory");
    }
    return it.handle;
}
