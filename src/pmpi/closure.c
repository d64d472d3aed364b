/* SPDX-License-Identifier: MIT */
/* See closure.h. */
#define _GNU_SOURCE
#include "pmpi/closure.h"

#include "functions/functions.h"
#include "pmpi/thunk.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Objects by name and address ------------------------------------------------------------- */

/* A slot of a hash table with open addressing. */
struct qmpi_closure_name {
    const char *name; /* NULL: free */
    int index;
};

static struct qmpi_closure_name *name_slot(const struct qmpi_closure *closure, const char *name)
{
    const uint32_t mask = (uint32_t)closure->room - 1;
    uint32_t at = qmpi_elf_hash(name) & mask;
    while (closure->names[at].name && strcmp(closure->names[at].name, name) != 0)
        at = (at + 1) & mask;
    return &closure->names[at];
}

static void add_name(struct qmpi_closure *closure, const char *name, int index)
{
    struct qmpi_closure_name *slot = name && *name ? name_slot(closure, name) : NULL;
    if (slot && !slot->name) /* the loader uses the first object with this name */
        *slot = (struct qmpi_closure_name){name, index};
}

/*
 * The loader finds an object by its path, its soname, and the names by which it was requested. An
 * object without a soname is taken to have been requested by the name of its file. The loader finds
 * a private copy (elf/copy.c) by the path of the copy alone.
 */
static void add_names(struct qmpi_closure *closure)
{
    closure->room = 4;
    while (closure->room < closure->count * 4)
        closure->room *= 2;
    closure->names = qmpi_allocate((size_t)closure->room, sizeof *closure->names);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_elf_loaded *object = &closure->objects[i].object;
        const char *soname = qmpi_elf_soname(&object->image);
        add_name(closure, object->name, i);
        if (qmpi_elf_copy_original(object->name) == object->name)
            add_name(closure, soname ? soname : qmpi_text_base_name(object->name), i);
    }
}

int qmpi_closure_find(const struct qmpi_closure *closure, const char *name)
{
    const struct qmpi_closure_name *slot = name_slot(closure, name);
    return slot->name ? slot->index : -1;
}

/* Returns the index of the object that is loaded at this address; -1: none. */
static int find_object_at(const struct qmpi_closure *closure, ElfW(Addr) base)
{
    for (int i = 0; i < closure->count; i++) {
        if (closure->objects[i].object.base == base)
            return i;
    }
    return -1;
}

/* ---- Dependencies ---------------------------------------------------------------------------- */

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
        closure->needs =
            qmpi_memory_grow(closure->needs, closure->total_needs, sizeof *closure->needs);
        closure->needs[closure->total_needs++] = index;
        object->need_count++;
    }
}

/*
 * Visits the objects that `first` reaches, breadth first. `visit` marks an object, and returns
 * whether the search continues in what it needs. Returns the indices of `first` and of the objects
 * in which the search continued, and sets *count to their number. The caller frees the array.
 */
static int *visit_reachable(struct qmpi_closure *closure, int first, int *count,
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

static bool mark_mpi_needs(struct qmpi_closure_object *object)
{
    const bool first = !object->mpi_needs;
    object->mpi_needs = true;
    return first;
}

/* The search for what the program needs ends at the MPI library, at tools, and at libraries with
 * wrappers of a tool. */
static bool mark_program_needs(struct qmpi_closure_object *object)
{
    const bool first = !object->program_needs && !object->wrappers;
    object->program_needs |= !object->wrappers;
    return first && !object->mpi && !object->tool;
}

static bool mark_reached(struct qmpi_closure_object *object)
{
    const bool first = !object->reached && !object->mpi && !object->tool && !object->runtime;
    object->reached = true;
    return first;
}

static void mark_from(struct qmpi_closure *closure, int first,
                      bool (*visit)(struct qmpi_closure_object *object))
{
    int count;
    visit(&closure->objects[first]);
    free(visit_reachable(closure, first, &count, visit));
}

/* ---- Objects of the program, of MPI and of tools --------------------------------------------- */

static void classify_object(struct qmpi_closure_object *object, const char *path)
{
    const struct qmpi_elf_loaded *loaded = &object->object;
    object->mpi = qmpi_object_is_mpi(loaded);
    object->runtime = qmpi_runtime_is(qmpi_text_base_name(loaded->name));
    object->tool = (path && !strcmp(loaded->name, path)) || qmpi_layer_group_begins_with(loaded) ||
                   qmpi_preloaded_is(loaded);
    object->wrappers = !object->tool && qmpi_preloaded_contains(loaded->image.dynamic);
    object->owned = qmpi_layer_group_of(loaded->image.dynamic) != NULL;
}

/* Returns, for each object, whether another one needs it. The caller frees the array. */
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

/* Whether a preloaded object is unrelated to MPI, like an allocator. */
static bool is_neutral(const struct qmpi_closure_object *object)
{
    return !object->tool && !object->mpi && !qmpi_object_uses_mpi(&object->object.image);
}

/* Marks an object of LD_PRELOAD. A neutral one belongs to the program, even if a tool needs it. */
static bool mark_preloaded(void *data, const char *name)
{
    struct qmpi_closure *closure = data;
    int index = qmpi_closure_find(closure, name);
    if (index < 0)
        index = qmpi_closure_find(closure, qmpi_text_base_name(name));
    if (index >= 0)
        closure->objects[index].preloaded = true;
    if (index >= 0 && is_neutral(&closure->objects[index]))
        mark_from(closure, index, mark_program_needs);
    return false;
}

static void mark_objects(struct qmpi_closure *closure, const char *path)
{
    for (int i = 0; i < closure->count; i++) {
        classify_object(&closure->objects[i], path);
        add_needs(closure, &closure->objects[i]);
    }
    bool *needed = find_needed(closure);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_closure_object *object = &closure->objects[i];
        const bool program = !*object->object.name;
        /* An object that no other one needs was preloaded or opened with dlopen. If it belongs to
         * no tool, it is taken to be opened by the program. */
        const bool opened = !needed[i] && !object->tool && !object->owned && !object->mpi;
        if (object->mpi && !qmpi_object_is_binding(&object->object))
            mark_from(closure, i, mark_mpi_needs);
        if (program || opened)
            mark_from(closure, i, mark_program_needs);
    }
    qmpi_preloaded_any_listed(mark_preloaded, closure);
    free(needed);
}

/* ---- Objects of a layer ---------------------------------------------------------------------- */

/* Whether an object belongs only to the tool that reaches it, and not to the program. A library
 * that calls PMPI alone belongs to the tool even if the program is linked with it: the layers below
 * must see its calls. */
static bool is_private(const struct qmpi_closure_object *object)
{
    return !object->mpi && !object->tool && !object->runtime && !object->mpi_needs &&
           (!object->program_needs || qmpi_object_uses_pmpi_alone(&object->object));
}

/*
 * Returns the indices of the object `first` and of the objects that it reaches, in the search order
 * of the loader (breadth first). The caller frees the array. The search does not continue in MPI
 * libraries, other tools, and libraries that exist once per process.
 */
static int *visit_closure(struct qmpi_closure *closure, int first, int *count)
{
    for (int i = 0; i < closure->count; i++)
        closure->objects[i].reached = i == first;
    return visit_reachable(closure, first, count, mark_reached);
}

/* Returns the object `first`, and each object that it reaches if that object is private to it and
 * not in a layer yet. The caller frees the array. */
static struct qmpi_elf_loaded *collect_members(struct qmpi_closure *closure, int first, int *count)
{
    int reached;
    int *order = visit_closure(closure, first, &reached);
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

static bool is_member(const struct qmpi_closure *closure, const struct qmpi_elf_loaded *members,
                      int count, int index)
{
    int i = 0;
    while (i < count && members[i].base != closure->objects[index].object.base)
        i++;
    return i < count;
}

static bool needs_member(struct qmpi_closure *closure, int index,
                         const struct qmpi_elf_loaded *members, int count)
{
    int reached;
    bool needs = false;
    int *order = visit_closure(closure, index, &reached);
    for (int i = 0; i < reached && !needs; i++)
        needs = is_member(closure, members, count, order[i]);
    free(order);
    return needs;
}

/*
 * A tool may consist of several preloaded libraries. Adds to its members each other preloaded
 * library that calls PMPI alone and needs one of the members. Returns the new array in place of
 * `members`.
 */
static struct qmpi_elf_loaded *add_partners(struct qmpi_closure *closure,
                                            struct qmpi_elf_loaded *members, int *count)
{
    struct qmpi_elf_loaded *all = qmpi_allocate((size_t)closure->count, sizeof *all);
    memcpy(all, members, (size_t)*count * sizeof *all);
    free(members);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_closure_object *object = &closure->objects[i];
        if (!object->preloaded || object->tool || object->mpi || object->owned ||
            is_member(closure, all, *count, i) || !qmpi_object_uses_pmpi_alone(&object->object) ||
            !needs_member(closure, i, all, *count))
            continue;
        all[(*count)++] = object->object;
    }
    return all;
}

/* ---- Use ------------------------------------------------------------------------------------- */

static int collect_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_closure *closure = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    closure->objects = qmpi_memory_grow(closure->objects, closure->count, sizeof *closure->objects);
    closure->objects[closure->count++] = (struct qmpi_closure_object){.object = object};
    return 0;
}

struct closure_use {
    const char *path;
    qmpi_closure_user *use;
    void *data;
};

/* The loader's list does not change while a callback of dl_iterate_phdr runs, so the second walk is
 * nested in the first one. */
static int use_closure(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct closure_use *with = data;
    struct qmpi_closure closure = {.objects = NULL};
    (void)info;
    (void)size;
    qmpi_elf_walk(collect_object, &closure);
    add_names(&closure);
    mark_objects(&closure, with->path);
    with->use(with->data, &closure);
    free(closure.objects);
    free(closure.names);
    free(closure.needs);
    return 1;
}

void qmpi_closure_use(const char *path, qmpi_closure_user *use, void *data)
{
    struct closure_use with = {path, use, data};
    qmpi_preloaded_find();
    qmpi_elf_walk(use_closure, &with);
}

struct member_search {
    const struct qmpi_elf_loaded *object;
    struct qmpi_elf_loaded *members;
    int count;
};

static void find_closure_members(void *data, struct qmpi_closure *closure)
{
    struct member_search *search = data;
    const int first = find_object_at(closure, search->object->base);
    if (first >= 0)
        search->members = collect_members(closure, first, &search->count);
}

struct qmpi_elf_loaded *qmpi_closure_of(const struct qmpi_elf_loaded *object, int *count)
{
    struct member_search search = {object, NULL, 1};
    qmpi_closure_use(NULL, find_closure_members, &search);
    if (!search.members) {
        search.members = qmpi_allocate(1, sizeof *search.members);
        search.members[0] = *object;
    }
    *count = search.count;
    return search.members;
}

/* ---- Libraries that are being opened for a layer --------------------------------------------- */

struct qmpi_closure_opening {
    struct qmpi_layer *layer;
    char *path;
    struct qmpi_layer_group *group; /* changed only while the loader's list does not change */
    bool ended, is_lost;            /* is_lost: there was no memory for the group */
    struct qmpi_closure_opening *next;
};

/* The pointer `openings` is exchanged with release order and loaded with acquire order. In an
 * element, `group` is stored at most once, and `ended` last, both with release order; other threads
 * load them with acquire order. */
static struct qmpi_closure_opening *openings; /* one element for each new library; none is
                                                 removed */

struct qmpi_closure_opening *qmpi_closure_begin_opening(struct qmpi_layer *layer, const char *path)
{
    struct qmpi_closure_opening *opening = qmpi_allocate(1, sizeof *opening);
    opening->layer = layer;
    opening->path = qmpi_copy(path);
    opening->next = __atomic_load_n(&openings, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&openings, &opening->next, opening, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        continue;
    return opening;
}

/*
 * Returns a text that lists the libraries which the object with index `first` needs and which
 * belong to other layers, too, so that the layers share their state. Libraries that exist once per
 * process are not listed. The caller frees the text. NULL: none.
 */
static char *list_shared(struct qmpi_closure *closure, int first, const struct qmpi_layer *layer)
{
    char *text = NULL;
    int count;
    int *order = visit_closure(closure, first, &count);
    for (int i = 1; i < count; i++) {
        const struct qmpi_elf_loaded *object = &closure->objects[order[i]].object;
        const struct qmpi_layer_group *group = qmpi_layer_group_of(object->image.dynamic);
        if (!group || group->layer == layer)
            continue;
        char *longer = qmpi_format("%s%s%s with layer %d (%s)", text ? text : "", text ? ", " : "",
                                   qmpi_text_base_name(qmpi_elf_copy_original(object->name)),
                                   group->layer->tool_id, group->layer->name);
        free(text);
        text = longer;
    }
    free(order);
    return text;
}

struct group_request {
    struct qmpi_closure_opening *opening;
    const char *path;    /* the loader's name of the library */
    const void *address; /* create a group only if it contains this address; NULL: always */
};

static void create_group(void *data, struct qmpi_closure *closure)
{
    const struct group_request *request = data;
    const int first = qmpi_closure_find(closure, request->path);
    if (request->opening->group || first < 0 || closure->objects[first].owned)
        return;
    int count;
    struct qmpi_elf_loaded *members = collect_members(closure, first, &count);
    bool wanted = !request->address;
    for (int i = 0; i < count && !wanted; i++)
        wanted = qmpi_elf_loaded_contains(&members[i], request->address);
    if (wanted) {
        struct qmpi_layer *layer = request->opening->layer;
        char *shares = list_shared(closure, first, layer);
        __atomic_store_n(&request->opening->group,
                         qmpi_layer_group_make(layer, members, count, shares), __ATOMIC_RELEASE);
    }
    free(members);
}

static void try_to_create_group(void *data)
{
    struct group_request *request = data;
    qmpi_closure_use(request->path, create_group, request);
}

struct qmpi_layer_group *qmpi_closure_end_opening(struct qmpi_closure_opening *opening,
                                                  void *handle)
{
    struct link_map *map = NULL;
    if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        struct group_request request = {opening, map->l_name, NULL};
        opening->is_lost = !qmpi_memory_catch_exhausted(try_to_create_group, &request);
    }
    __atomic_store_n(&opening->ended, true, __ATOMIC_RELEASE);
    return opening->group;
}

bool qmpi_closure_opening_is_lost(const struct qmpi_closure_opening *opening)
{
    return opening->is_lost;
}

/* Creates the group of a library that is being opened if it contains `address`. The closure of the
 * library may be incomplete until its code runs, but no address in the library is looked up
 * earlier. */
static void try_opening(struct qmpi_closure_opening *opening, const void *address)
{
    struct group_request request = {opening, opening->path, address};
    if (!__atomic_load_n(&opening->ended, __ATOMIC_ACQUIRE) &&
        !__atomic_load_n(&opening->group, __ATOMIC_ACQUIRE))
        qmpi_memory_catch_exhausted(try_to_create_group, &request);
}

/*
 * Returns the group with an object that contains `address`, even if its library is still being
 * opened; NULL: none. This thread or another one may create a group meanwhile, for this address or
 * another, so the address is looked up again.
 */
static struct qmpi_layer_group *find_group(const void *address)
{
    struct qmpi_closure_opening *opening = __atomic_load_n(&openings, __ATOMIC_ACQUIRE);
    struct qmpi_layer_group *group = qmpi_layer_group_of(address);
    for (; opening && !group; opening = opening->next)
        try_opening(opening, address);
    return group ? group : qmpi_layer_group_of(address);
}

struct adoption {
    struct qmpi_layer *layer;
    const struct qmpi_elf_loaded *object;
    struct qmpi_layer_group *group;
};

static void adopt_closure(void *data, struct qmpi_closure *closure)
{
    struct adoption *adoption = data;
    const int first = find_object_at(closure, adoption->object->base);
    if (first < 0)
        return;
    int count;
    struct qmpi_elf_loaded *members = collect_members(closure, first, &count);
    members = add_partners(closure, members, &count);
    char *shares = list_shared(closure, first, adoption->layer);
    adoption->group = qmpi_layer_group_make(adoption->layer, members, count, shares);
    free(members);
}

struct qmpi_layer_group *qmpi_closure_adopt(struct qmpi_layer *layer,
                                            const struct qmpi_elf_loaded *object)
{
    struct adoption adoption = {layer, object, NULL};
    /* Keeps the library loaded, because the program may have opened it, and may close it. */
    dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    qmpi_closure_use(NULL, adopt_closure, &adoption);
    return adoption.group ? adoption.group : qmpi_layer_group_make(layer, object, 1, NULL);
}

/* ---- Wrappers in the program ----------------------------------------------------------------- */

/* The code of a wrapper. */
struct wrapper {
    uintptr_t begin;
    size_t size;
};

struct wrappers {
    int count;
    struct wrapper all[];
};
/* Set once, with release order, before the group of the program; NULL: the program is no layer. */
static struct wrappers *program_wrappers;

static bool is_wrapper(const struct qmpi_elf_loaded *program, const ElfW(Sym) * symbol)
{
    const char *name = qmpi_elf_string(&program->image, symbol->st_name);
    return qmpi_elf_defines(symbol) && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           ((name[0] == 'M' && qmpi_function_find(name) >= 0) || qmpi_binding_is_procedure(name));
}

struct qmpi_layer_group *qmpi_closure_adopt_program(struct qmpi_layer *layer,
                                                    const struct qmpi_elf_loaded *program)
{
    const size_t symbols = qmpi_elf_symbol_count(&program->image);
    int count = 0;
    for (size_t i = 0; i < symbols; i++)
        count += is_wrapper(program, &program->image.symbols[i]);
    struct wrappers *found = qmpi_allocate(1, sizeof *found + (size_t)count * sizeof found->all[0]);
    for (size_t i = 0; i < symbols; i++) {
        const ElfW(Sym) *symbol = &program->image.symbols[i];
        if (is_wrapper(program, symbol))
            found->all[found->count++] = (struct wrapper){
                (uintptr_t)qmpi_elf_loaded_address(program, symbol), symbol->st_size};
    }
    __atomic_store_n(&program_wrappers, found, __ATOMIC_RELEASE);
    return qmpi_layer_group_make(layer, program, 1, NULL);
}

/* ---- The layer of an address ----------------------------------------------------------------- */

bool qmpi_pmpi_is_used;

struct qmpi_layer *qmpi_pmpi_layer_of(const void *address)
{
    /* libqmpi itself opens libraries while a tool is loaded; this check avoids a search of all
     * closures for the address. */
    const struct qmpi_layer_group *group =
        qmpi_object_self_contains(address) ? NULL : find_group(address);
    return group ? group->layer : NULL;
}

bool qmpi_pmpi_holds(const void *address)
{
    const struct qmpi_layer *layer = qmpi_pmpi_layer_of(address);
    if (!layer || !layer->preloaded || !layer->preloaded->program)
        return layer != NULL;
    /* The wrappers are loaded after the layer was found, because they are stored before the group
     * of the layer. */
    const struct wrappers *wrappers = __atomic_load_n(&program_wrappers, __ATOMIC_ACQUIRE);
    /* If a function ends with a call that does not return, the return address is behind the end of
     * the function. Therefore, the byte before it is looked up. */
    for (int i = 0; i < wrappers->count; i++) {
        if ((uintptr_t)address - 1 - wrappers->all[i].begin < wrappers->all[i].size)
            return true;
    }
    return false;
}

qmpi_function *qmpi_pmpi_target(int number, const void *caller, bool pmpi)
{
    struct qmpi_layer *layer = qmpi_pmpi_layer_of(caller);
    struct qmpi_elf_loaded object;
    if (!layer)
        return NULL;
    const void *found = !pmpi && qmpi_elf_loaded_containing(caller, &object)
                            ? qmpi_elf_loaded_find(&object, qmpi_names[number].name)
                            : NULL;
    return found ? (qmpi_function *)(uintptr_t)found : qmpi_thunk_next_function(layer, number);
}
