/* SPDX-License-Identifier: MIT */
/* See held.h. dlopen is not called inside dl_iterate_phdr: the loader takes its two locks in
 * the other order. */
#define _GNU_SOURCE
#include "elf/held.h"

#include "elf/walk.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct search {
    qmpi_elf_wants *wants;
    void *data;
    struct qmpi_elf_held *found; /* no handles yet; the names are copies */
    int count;
};

static int note_wanted(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !search->wants(search->data, &object))
        return 0;
    search->found = qmpi_grow(search->found, search->count, sizeof *search->found);
    object.name = qmpi_copy(object.name);
    search->found[search->count++] = (struct qmpi_elf_held){object, NULL};
    return 0;
}

/* The same object, and not another one that came in its place. */
static void *hold(const struct qmpi_elf_loaded *object)
{
    const struct link_map *map = NULL;
    void *handle = dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_addr != object->base ||
                   map->l_ld != object->image.dynamic)) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

/* Where one was unloaded and another loaded in its place, what was read then is of the former. */
static int read_again(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    for (int i = 0; i < search->count; i++) {
        if (search->found[i].object.image.dynamic == object.image.dynamic)
            search->found[i].object = object;
    }
    return 0;
}

struct qmpi_elf_held *qmpi_elf_hold(qmpi_elf_wants *wants, void *data, int *count)
{
    struct search search = {wants, data, NULL, 0};
    const bool alone =
        qmpi_elf_walks_alone(); /* nobody unloads, and dlopen may fail an assertion */
    int held = 0;
    qmpi_elf_walk(note_wanted, &search);
    for (int i = 0; i < search.count; i++) {
        struct qmpi_elf_held *one = &search.found[i];
        one->handle = alone ? NULL : hold(&one->object);
        free((char *)(uintptr_t)one->object.name);
        if (one->handle || alone)
            search.found[held++] = *one;
    }
    *count = search.count = held;
    if (held)
        qmpi_elf_walk(read_again, &search);
    return search.found;
}

void qmpi_elf_let_go(struct qmpi_elf_held *held, int count)
{
    for (int i = 0; i < count; i++) {
        if (held[i].handle)
            dlclose(held[i].handle);
    }
    free(held);
}
