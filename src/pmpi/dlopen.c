/* SPDX-License-Identifier: MIT */
/* See dlopen.h. */
#define _GNU_SOURCE
#include "pmpi/dlopen.h"

#include "elf/elf.h"
#include "pmpi/copies_made.h"
#include "pmpi/library_copy.h"
#include "pmpi/load.h"
#include "pmpi/opening.h"
#include "pmpi/owner.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *(*qmpi_real_dlopen)(const char *file, int mode);

/* As for dlsym: a sanitizer may ask before its own memory is there. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

EARLY static void find_real(void)
{
    void *found = qmpi_next_symbol("dlopen");
    if (!found)
        abort(); /* no C library that we know is without it */
    __atomic_store_n(&qmpi_real_dlopen, (void *(*)(const char *, int))(uintptr_t)found,
                     __ATOMIC_RELEASE);
}

EARLY struct qmpi_layer *qmpi_tool_dlopen_layer(const void *caller)
{
    if (!__atomic_load_n(&qmpi_real_dlopen, __ATOMIC_ACQUIRE))
        find_real();
    return qmpi_pmpi_is_used ? qmpi_pmpi_layer_of(caller) : NULL;
}

/*
 * Whether it is in the process, and shared with those who have it. Not so where the tool is a layer
 * already, and that layer has it: then *path (to be freed) is its file.
 */
static bool is_there(const struct qmpi_layer *layer, const char *file, char **path)
{
    struct link_map *map = NULL;
    void *handle = qmpi_real_dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    const struct qmpi_group *group = layer->again && map ? qmpi_group_of(map->l_ld) : NULL;
    const bool other = group && group->layer != layer;
    if (other && !*path)
        *path = qmpi_copy(map->l_name);
    dlclose(handle);
    return !other;
}

/* The file that the tool means: sought as from the original of the object that asks. */
static char *find_file(const char *file, const void *caller)
{
    struct qmpi_elf_loaded object;
    if (!qmpi_elf_loaded_holder(caller, &object))
        return NULL;
    return qmpi_search(&object.image, qmpi_copies_original(object.name), file);
}

static void *open_for(struct qmpi_layer *layer, const char *path, int mode)
{
    char *problem = NULL;
    struct qmpi_copies copies = {.layer = layer, .path = path, .opened = true};
    char *chosen = qmpi_copies_make(&copies, &problem);
    if (problem && qmpi_is_reporting_process())
        qmpi_printf("layer %d (%s) opens %s, which cannot be copied: %-s", layer->tool_id,
                    layer->name, path, problem);
    free(problem);
    if (!chosen)
        return qmpi_real_dlopen(path, mode);
    struct qmpi_opening *opening = qmpi_opening_begin(layer, chosen);
    void *handle = qmpi_real_dlopen(chosen, mode | RTLD_NODELETE);
    struct qmpi_group *group = qmpi_opening_end(opening, handle);
    if (group)
        qmpi_pmpi_add_object(group, copies.shares);
    free(chosen);
    return handle;
}

void *qmpi_tool_dlopen(const char *file, int mode, struct qmpi_layer *layer, const void *caller)
{
    const char *copy = file && *file ? qmpi_copies_find(layer, file) : NULL;
    char *path = NULL;
    if (copy)
        return qmpi_real_dlopen(copy, mode);
    if (!file || !*file || mode & RTLD_NOLOAD || is_there(layer, file, &path))
        return qmpi_real_dlopen(file, mode);
    if (!path)
        path = find_file(file, caller);
    void *handle = path && !is_there(layer, path, &path)
                       ? open_for(layer, path, mode)
                       : qmpi_real_dlopen(path ? path : file, mode);
    free(path);
    return handle;
}
