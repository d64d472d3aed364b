/* SPDX-License-Identifier: MIT */
/* See preloaded.h. */
#define _GNU_SOURCE
#include "process/preloaded.h"

#include "elf/elf.h"
#include "process/object.h"
#include "util/util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct qmpi_preloaded_tool *tools; /* set completely before they are read */
static int preloaded_count;

static int add_if_tool(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *behind = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    *behind = *behind || qmpi_object_is_self(&object);
    if (!qmpi_object_is_pmpi_tool(&object))
        return 0;
    tools = qmpi_memory_grow(tools, preloaded_count, sizeof *tools);
    struct qmpi_preloaded_tool *preloaded = &tools[preloaded_count++];
    *preloaded = (struct qmpi_preloaded_tool){.object = object,
                                              .program = !*object.name,
                                              .in_front = !*behind,
                                              .path = *object.name ? qmpi_copy(object.name)
                                                                   : qmpi_object_program_path()};
    preloaded->object.name = preloaded->path;
    preloaded->name = qmpi_object_tool_name(preloaded->path);
    qmpi_debug(QMPI_TOPIC_LOAD, "%s is a PMPI tool, %s libqmpi", preloaded->path,
               *behind ? "behind" : "in front of");
    return 0;
}

/* ---- Wrappers in libraries that a preloaded library needs ------------------------------------ */

struct objects {
    struct qmpi_elf_loaded *all; /* in the loader's order */
    int count;
};

static int collect_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct objects *objects = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    objects->all = qmpi_memory_grow(objects->all, objects->count, sizeof *objects->all);
    objects->all[objects->count++] = object;
    return 0;
}

/* Whether an object has this name in LD_PRELOAD or in the list of libraries that another object
 * needs. */
static bool has_name(const struct qmpi_elf_loaded *object, const char *name)
{
    const char *soname = qmpi_elf_soname(&object->image);
    return !strcmp(object->name, name) ||
           !strcmp(qmpi_text_base_name(object->name), qmpi_text_base_name(name)) ||
           (soname && !strcmp(soname, name));
}

static int find_named(const struct objects *objects, const char *name)
{
    for (int i = 1; i < objects->count; i++) {
        if (has_name(&objects->all[i], name))
            return i;
    }
    return -1;
}

/* Whether object number `from` is the object at `base`, or needs it directly or indirectly. The
 * search does not go beyond the MPI library. */
static bool reaches(const struct objects *objects, int from, ElfW(Addr) base, bool *visited)
{
    const struct qmpi_elf_loaded *object = &objects->all[from];
    const char *needed;
    if (object->base == base)
        return true;
    visited[from] = true;
    if (qmpi_object_is_mpi(object))
        return false;
    for (int i = 0; (needed = qmpi_elf_needed(&object->image, i)); i++) {
        const int next = find_named(objects, needed);
        if (next >= 0 && !visited[next] && reaches(objects, next, base, visited))
            return true;
    }
    return false;
}

/* Whether the program itself needs the object, which is then a tool of its own. */
static bool program_needs(const struct objects *objects, const struct qmpi_elf_loaded *object)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(&objects->all[0].image, i)); i++) {
        const int index = find_named(objects, needed);
        if (index >= 0 && objects->all[index].base == object->base)
            return true;
    }
    return false;
}

bool qmpi_preloaded_any_listed(bool (*is)(void *data, const char *name), void *data)
{
    const char *list = secure_getenv("LD_PRELOAD");
    bool any = false;
    while (list && !any && *(list += strspn(list, " :"))) {
        const size_t length = strcspn(list, " :");
        char *name = qmpi_copy_part(list, length);
        any = is(data, name);
        free(name);
        list += length;
    }
    return any;
}

static bool is_listed(void *tool, const char *name)
{
    return has_name(tool, name);
}

struct owner {
    const struct objects *objects;
    const struct qmpi_elf_loaded *tool;
    bool *visited;
    int index;
};

static bool is_owner(void *data, const char *name)
{
    struct owner *owner = data;
    owner->index = find_named(owner->objects, name);
    memset(owner->visited, 0, (size_t)owner->objects->count * sizeof *owner->visited);
    return owner->index >= 0 &&
           reaches(owner->objects, owner->index, owner->tool->base, owner->visited);
}

/* Returns the library of LD_PRELOAD that needs the library of a tool; NULL: none, or the tool
 * itself is listed there. */
static const struct qmpi_elf_loaded *find_owner(const struct objects *objects,
                                                struct qmpi_elf_loaded *tool)
{
    if (qmpi_preloaded_any_listed(is_listed, tool))
        return NULL;
    struct owner owner = {.objects = objects, .tool = tool};
    owner.visited = qmpi_allocate((size_t)objects->count, sizeof *owner.visited);
    const bool found = qmpi_preloaded_any_listed(is_owner, &owner);
    free(owner.visited);
    return found ? &objects->all[owner.index] : NULL;
}

static struct qmpi_preloaded_tool *find_tool(const struct qmpi_elf_loaded *object)
{
    for (int i = 0; i < preloaded_count; i++) {
        if (tools[i].object.base == object->base)
            return &tools[i];
    }
    return NULL;
}

static void add_needed(struct qmpi_preloaded_tool *tool, const struct qmpi_elf_loaded *object)
{
    tool->needed = qmpi_memory_grow(tool->needed, tool->needed_count, sizeof *tool->needed);
    tool->needed[tool->needed_count++] = *object;
}

/* Makes the preloaded library the tool, in place of the library with the wrappers. */
static void replace_tool(struct qmpi_preloaded_tool *tool, const struct qmpi_elf_loaded *owner)
{
    const struct qmpi_elf_loaded wrappers = tool->object;
    tool->object = *owner;
    tool->path = qmpi_copy(owner->name);
    tool->object.name = tool->path;
    tool->name = qmpi_object_tool_name(tool->path);
    add_needed(tool, &wrappers);
    qmpi_debug(QMPI_TOPIC_LOAD, "%s is the PMPI tool that %s belongs to", tool->path,
               wrappers.name);
}

static void find_owners(void)
{
    struct objects objects = {NULL, 0};
    qmpi_elf_walk(collect_object, &objects);
    for (int i = 0; i < preloaded_count;) {
        const struct qmpi_elf_loaded *owner =
            tools[i].program || program_needs(&objects, &tools[i].object)
                ? NULL
                : find_owner(&objects, &tools[i].object);
        struct qmpi_preloaded_tool *known = owner ? find_tool(owner) : NULL;
        if (known) {
            add_needed(known, &tools[i].object);
            memmove(&tools[i], &tools[i + 1], (size_t)(--preloaded_count - i) * sizeof *tools);
            continue;
        }
        if (owner)
            replace_tool(&tools[i], owner);
        i++;
    }
    free(objects.all);
}

static void find_preloaded(void)
{
    bool behind = false;
    qmpi_elf_walk(add_if_tool, &behind);
    if (preloaded_count)
        find_owners();
}

void qmpi_preloaded_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_preloaded);
}

int qmpi_preloaded_count(void)
{
    return preloaded_count;
}

struct qmpi_preloaded_tool *qmpi_preloaded_get(int index)
{
    return &tools[index];
}

static bool is_named(const struct qmpi_elf_loaded *object, const char *name)
{
    const char *soname = qmpi_elf_soname(&object->image);
    return !strcmp(qmpi_text_base_name(object->name), name) || (soname && !strcmp(soname, name));
}

struct qmpi_preloaded_tool *qmpi_preloaded_by_name(const char *name)
{
    for (int i = 0; i < preloaded_count; i++) {
        bool is = !strcmp(tools[i].name, name) || is_named(&tools[i].object, name);
        for (int k = 0; k < tools[i].needed_count && !is; k++)
            is = is_named(&tools[i].needed[k], name);
        if (is)
            return &tools[i];
    }
    return NULL;
}

struct qmpi_preloaded_tool *qmpi_preloaded_by_file(const char *path)
{
    for (int i = 0; i < preloaded_count; i++) {
        bool is = qmpi_elf_file_same(tools[i].path, path);
        for (int k = 0; k < tools[i].needed_count && !is; k++)
            is = qmpi_elf_file_same(tools[i].needed[k].name, path);
        if (is)
            return &tools[i];
    }
    return NULL;
}

struct qmpi_preloaded_tool *qmpi_preloaded_in_front(const char *function)
{
    struct qmpi_preloaded_tool *last = NULL;
    qmpi_preloaded_find();
    for (int i = 0; i < preloaded_count; i++) {
        if (tools[i].in_front && qmpi_elf_loaded_find(&tools[i].object, function))
            last = &tools[i];
    }
    return last;
}

bool qmpi_preloaded_is(const struct qmpi_elf_loaded *object)
{
    qmpi_preloaded_find();
    const struct qmpi_preloaded_tool *tool = find_tool(object);
    return tool && !tool->program;
}

void *qmpi_preloaded_function(const struct qmpi_preloaded_tool *tool, const char *function)
{
    void *found = qmpi_elf_loaded_find(&tool->object, function);
    for (int i = 0; i < tool->needed_count && !found; i++)
        found = qmpi_elf_loaded_find(&tool->needed[i], function);
    return found;
}

static bool tool_contains(const struct qmpi_preloaded_tool *tool, const void *address)
{
    bool found = qmpi_elf_loaded_contains(&tool->object, address);
    for (int i = 0; i < tool->needed_count && !found; i++)
        found = qmpi_elf_loaded_contains(&tool->needed[i], address);
    return found;
}

struct qmpi_preloaded_tool *qmpi_preloaded_contains(const void *address)
{
    qmpi_preloaded_find();
    for (int i = 0; i < preloaded_count; i++) {
        if (!tools[i].program && tool_contains(&tools[i], address))
            return &tools[i];
    }
    return NULL;
}
