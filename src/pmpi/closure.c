/* SPDX-License-Identifier: MIT */
/* See closure.h. */
#define _GNU_SOURCE
#include "pmpi/closure.h"

#include "elf/elf.h"
#include "pmpi/copies_made.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_closure *closure = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    if ((closure->count & (closure->count - 1)) == 0) { /* at 0, 1, 2, 4, … */
        struct qmpi_closure_object *more =
            qmpi_allocate((size_t)closure->count * 2 + 1, sizeof *more);
        if (closure->count)
            memcpy(more, closure->objects, (size_t)closure->count * sizeof *more);
        free(closure->objects);
        closure->objects = more;
    }
    closure->objects[closure->count++].object = object;
    return 0;
}

int qmpi_closure_at(const struct qmpi_closure *closure, ElfW(Addr) base)
{
    for (int i = 0; i < closure->count; i++) {
        if (closure->objects[i].object.base == base)
            return i;
    }
    return -1;
}

/* ---- Whose they are -------------------------------------------------------------------------- */

/*
 * Goes through what `first` reaches, breadth first: `visit` says whether to go on behind an object
 * that is met, and is to note that it has been.
 */
static int *walk(struct qmpi_closure *closure, int first, int *count,
                 bool (*visit)(struct qmpi_closure_object *object))
{
    int *queue = qmpi_allocate((size_t)closure->count + 1, sizeof *queue);
    *count = 0;
    queue[(*count)++] = first;
    for (int next = 0; next < *count; next++) {
        const struct qmpi_closure_object *object = &closure->objects[queue[next]];
        const int *needs = &closure->needs[object->first_need];
        for (int i = 0; i < object->need_count; i++) {
            if (visit(&closure->objects[needs[i]]))
                queue[(*count)++] = needs[i];
        }
    }
    return queue;
}

static bool visit_base(struct qmpi_closure_object *object)
{
    const bool first = !object->base;
    object->base = true;
    return first;
}

/* The way ends at MPI's libraries and at tools. */
static bool visit_programs(struct qmpi_closure_object *object)
{
    const bool first = !object->programs;
    object->programs = true;
    return first && !object->mpi && !object->tool;
}

static bool visit_reached(struct qmpi_closure_object *object)
{
    const bool first = !object->reached && !object->mpi && !object->tool && !object->runtime;
    object->reached = true;
    return first;
}

static void mark(struct qmpi_closure *closure, int first,
                 bool (*visit)(struct qmpi_closure_object *object))
{
    int count;
    visit(&closure->objects[first]);
    free(walk(closure, first, &count, visit));
}

static void describe(struct qmpi_closure_object *object, const char *path)
{
    const struct qmpi_elf_loaded *loaded = &object->object;
    object->mpi = qmpi_is_mpi(loaded);
    object->runtime = qmpi_runtime_is(file_part(loaded->name));
    object->tool = (path && !strcmp(loaded->name, path)) || qmpi_group_is_redirected(loaded) ||
                   qmpi_preloaded_contains(loaded->image.dynamic);
    object->owned = qmpi_group_of(loaded->image.dynamic) != NULL;
}

static void add_needs(struct qmpi_closure *closure, struct qmpi_closure_object *object)
{
    const struct qmpi_elf_image *image = &object->object.image;
    object->first_need = closure->total_needs;
    for (size_t i = 0; i < image->dynamic_count; i++) {
        const ElfW(Dyn) *entry = &image->dynamic[i];
        const int index =
            entry->d_tag == DT_NEEDED
                ? qmpi_closure_find(closure, qmpi_elf_string(image, entry->d_un.d_val))
                : -1;
        if (index < 0)
            continue;
        closure->needs = qmpi_grow(closure->needs, closure->total_needs, sizeof *closure->needs);
        closure->needs[closure->total_needs++] = index;
        object->need_count++;
    }
}

/* Which objects another one needs. */
static bool *find_needed(const struct qmpi_closure *closure)
{
    bool *needed = qmpi_allocate((size_t)closure->count + 1, sizeof *needed);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_closure_object *object = &closure->objects[i];
        for (int k = 0; k < object->need_count; k++) {
            const int index = closure->needs[object->first_need + k];
            if (index != i)
                needed[index] = true;
        }
    }
    return needed;
}

static bool is_everybodys(const struct qmpi_closure_object *object)
{
    return !object->tool && !object->mpi && !qmpi_mpi_symbols_any(&object->object.image);
}

/* What was preloaded, an allocator for instance, is the process's, also where a tool needs it. */
static void mark_preloaded(struct qmpi_closure *closure)
{
    const char *list = secure_getenv("LD_PRELOAD");
    while (list && *(list += strspn(list, " :"))) {
        const size_t length = strcspn(list, " :");
        char *name = qmpi_copy_part(list, length);
        int index = qmpi_closure_find(closure, name);
        if (index < 0)
            index = qmpi_closure_find(closure, file_part(name));
        if (index >= 0 && is_everybodys(&closure->objects[index]))
            mark(closure, index, visit_programs);
        free(name);
        list += length;
    }
}

static void mark_all(struct qmpi_closure *closure, const char *path)
{
    for (int i = 0; i < closure->count; i++) {
        describe(&closure->objects[i], path);
        add_needs(closure, &closure->objects[i]);
    }
    bool *needed = find_needed(closure);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_closure_object *object = &closure->objects[i];
        const bool program = !*object->object.name;
        /* An object that no other needs was preloaded, or opened by the program. */
        const bool opened = !needed[i] && !object->tool && !object->owned && !object->mpi;
        if (object->mpi && !qmpi_is_binding(&object->object))
            mark(closure, i, visit_base);
        if (program || opened)
            mark(closure, i, visit_programs);
    }
    mark_preloaded(closure);
    free(needed);
}

/* Whether an object belongs to the tool that reaches it, and not also to the program. */
static bool is_private(const struct qmpi_closure_object *object)
{
    return !object->mpi && !object->tool && !object->runtime && !object->base && !object->programs;
}

int *qmpi_closure_visit(struct qmpi_closure *closure, int first, int *count)
{
    for (int i = 0; i < closure->count; i++)
        closure->objects[i].reached = i == first;
    return walk(closure, first, count, visit_reached);
}

struct qmpi_elf_loaded *qmpi_closure_members(struct qmpi_closure *closure, int first, int *count)
{
    int reached;
    int *order = qmpi_closure_visit(closure, first, &reached);
    struct qmpi_elf_loaded *members = qmpi_allocate((size_t)reached, sizeof *members);
    *count = 0;
    for (int i = 0; i < reached; i++) {
        const struct qmpi_closure_object *object = &closure->objects[order[i]];
        if (i == 0 || (is_private(object) && !object->owned))
            members[(*count)++] = object->object;
    }
    free(order);
    return members;
}

/* ---- Looking --------------------------------------------------------------------------------- */

struct look {
    const char *path;
    qmpi_closure_user *use;
    void *data;
};

/* The loader's list stands still while a callback of dl_iterate_phdr runs; a second walk nests. */
static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct look *with = data;
    struct qmpi_closure closure = {.objects = NULL};
    (void)info;
    (void)size;
    qmpi_elf_walk(collect, &closure);
    qmpi_closure_add_names(&closure);
    mark_all(&closure, with->path);
    with->use(with->data, &closure);
    free(closure.objects);
    free(closure.names);
    free(closure.needs);
    return 1;
}

void qmpi_closure_use(const char *path, qmpi_closure_user *use, void *data)
{
    struct look with = {path, use, data};
    qmpi_preloaded_find();
    qmpi_elf_walk(look, &with);
}

struct wanted {
    const struct qmpi_elf_loaded *object;
    struct qmpi_elf_loaded *members;
    int count;
};

static void find_members(void *data, struct qmpi_closure *closure)
{
    struct wanted *wanted = data;
    const int first = qmpi_closure_at(closure, wanted->object->base);
    if (first >= 0)
        wanted->members = qmpi_closure_members(closure, first, &wanted->count);
}

struct qmpi_elf_loaded *qmpi_closure_of(const struct qmpi_elf_loaded *object, int *count)
{
    struct wanted wanted = {object, NULL, 1};
    qmpi_closure_use(NULL, find_members, &wanted);
    if (!wanted.members) {
        wanted.members = qmpi_allocate(1, sizeof *wanted.members);
        wanted.members[0] = *object;
    }
    *count = wanted.count;
    return wanted.members;
}
