/* SPDX-License-Identifier: MIT */
/* See closure.h: by which names the loader knows the objects. */
#include "pmpi/closure.h"
#include "pmpi/copies_made.h"
#include "util/util.h"

#include <stdint.h>
#include <string.h>

/* A slot of a table with open addressing; its size is a power of two. */
struct qmpi_closure_name {
    const char *name; /* NULL: free */
    int index;
};

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static struct qmpi_closure_name *slot_of(const struct qmpi_closure *closure, const char *name)
{
    uint32_t at = hash_of(name);
    while (closure->names[at & (uint32_t)(closure->room - 1)].name &&
           strcmp(closure->names[at & (uint32_t)(closure->room - 1)].name, name) != 0)
        at++;
    return &closure->names[at & (uint32_t)(closure->room - 1)];
}

static void add_name(struct qmpi_closure *closure, const char *name, int index)
{
    struct qmpi_closure_name *slot = name && *name ? slot_of(closure, name) : NULL;
    if (slot && !slot->name) /* the loader takes the first */
        *slot = (struct qmpi_closure_name){name, index};
}

/*
 * The loader knows an object by its soname, its path, and the name that it was asked for: where it
 * has no soname that is its file's. A copy answers to its path alone.
 */
void qmpi_closure_add_names(struct qmpi_closure *closure)
{
    closure->room = 4;
    while (closure->room < closure->count * 4)
        closure->room *= 2;
    closure->names = qmpi_allocate((size_t)closure->room, sizeof *closure->names);
    for (int i = 0; i < closure->count; i++) {
        const struct qmpi_elf_loaded *object = &closure->objects[i].object;
        const char *soname = qmpi_elf_soname(&object->image);
        const char *slash = strrchr(object->name, '/');
        add_name(closure, object->name, i);
        if (qmpi_copies_original(object->name) == object->name)
            add_name(closure, soname ? soname : slash ? slash + 1 : object->name, i);
    }
}

int qmpi_closure_find(const struct qmpi_closure *closure, const char *name)
{
    const struct qmpi_closure_name *slot = slot_of(closure, name);
    return slot->name ? slot->index : -1;
}
