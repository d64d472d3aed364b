/* SPDX-License-Identifier: MIT */
/* See group.h. */
#define _GNU_SOURCE
#include "group.h"

#include "binding.h"
#include "message.h"

#include <stdlib.h>

static struct qmpi_group *groups; /* grows only, and only in start-up */

struct object_list {
    struct qmpi_elf_loaded *objects;
    int count;
    const struct qmpi_group_snapshot *without;
};

bool qmpi_group_snapshot_has(const struct qmpi_group_snapshot *snapshot, ElfW(Addr) base)
{
    for (int i = 0; i < snapshot->count; i++) {
        if (snapshot->bases[i] == base)
            return true;
    }
    return false;
}

static int note_base(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_group_snapshot *snapshot = data;
    (void)size;
    if (snapshot->count % 64 == 0) {
        ElfW(Addr) *more = qmpi_allocate((size_t)snapshot->count + 64, sizeof *snapshot->bases);
        for (int i = 0; i < snapshot->count; i++)
            more[i] = snapshot->bases[i];
        free(snapshot->bases);
        snapshot->bases = more;
    }
    snapshot->bases[snapshot->count++] = info->dlpi_addr;
    return 0;
}

void qmpi_group_snapshot_take(struct qmpi_group_snapshot *snapshot)
{
    *snapshot = (struct qmpi_group_snapshot){NULL, 0};
    dl_iterate_phdr(note_base, snapshot);
}

void qmpi_group_snapshot_free(struct qmpi_group_snapshot *snapshot)
{
    free(snapshot->bases);
    *snapshot = (struct qmpi_group_snapshot){NULL, 0};
}

struct holder {
    const void *address;
    ElfW(Addr) base;
    bool found;
};

static int find_holder(struct dl_phdr_info *info, size_t size, void *data)
{
    struct holder *holder = data;
    const struct qmpi_elf_loaded object = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&object, holder->address))
        return 0;
    holder->base = info->dlpi_addr;
    holder->found = true;
    return 1;
}

bool qmpi_group_snapshot_holds(const struct qmpi_group_snapshot *snapshot, const void *address)
{
    struct holder holder = {address, 0, false};
    dl_iterate_phdr(find_holder, &holder);
    return !holder.found || qmpi_group_snapshot_has(snapshot, holder.base);
}

static void add_object(struct object_list *list, const struct qmpi_elf_loaded *object)
{
    struct qmpi_elf_loaded *more = qmpi_allocate((size_t)list->count + 1, sizeof *more);
    for (int i = 0; i < list->count; i++)
        more[i] = list->objects[i];
    more[list->count] = *object;
    more[list->count].name = qmpi_copy(object->name);
    free(list->objects);
    list->objects = more;
    list->count++;
}

/* A tool may be the one that brings the MPI library, or our own: they are not its parts. */
bool qmpi_group_is_mpi(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_find(object, "PMPI_Get_library_version") ||
           qmpi_elf_loaded_find(object, "QMPIX_Get_function") || qmpi_binding_is(object);
}

static int note_new(struct dl_phdr_info *info, size_t size, void *data)
{
    struct object_list *list = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_group_snapshot_has(list->without, info->dlpi_addr) &&
        qmpi_elf_loaded_read(info, &object) && !qmpi_group_is_mpi(&object))
        add_object(list, &object);
    return 0;
}

static struct qmpi_group *publish(struct qmpi_layer *layer, const struct object_list *list)
{
    struct qmpi_group *group = qmpi_allocate(1, sizeof *group);
    *group = (struct qmpi_group){layer, list->objects, list->count, groups};
    __atomic_store_n(&groups, group, __ATOMIC_RELEASE);
    return group;
}

struct qmpi_group *qmpi_group_make(struct qmpi_layer *layer,
                                   const struct qmpi_group_snapshot *before, ElfW(Addr) first)
{
    struct object_list list = {NULL, 0, before};
    dl_iterate_phdr(note_new, &list);
    for (int i = 1; i < list.count; i++) { /* copies of its dependencies were loaded before it */
        if (list.objects[i].base == first) {
            const struct qmpi_elf_loaded swapped = list.objects[0];
            list.objects[0] = list.objects[i];
            list.objects[i] = swapped;
        }
    }
    return publish(layer, &list);
}

struct qmpi_group *qmpi_group_adopt(struct qmpi_layer *layer, const struct qmpi_elf_loaded *objects,
                                    int count)
{
    struct object_list list = {NULL, 0, NULL};
    for (int i = 0; i < count; i++)
        add_object(&list, &objects[i]);
    return publish(layer, &list);
}

struct qmpi_group *qmpi_group_of(const void *address)
{
    struct qmpi_group *group = qmpi_group_first();
    for (; group; group = group->next) {
        for (int i = 0; i < group->count; i++) {
            if (qmpi_elf_loaded_contains(&group->objects[i], address))
                return group;
        }
    }
    return NULL;
}

void *qmpi_group_find(const struct qmpi_group *group, const char *name)
{
    for (int i = 0; i < group->count; i++) {
        void *address = qmpi_elf_loaded_find(&group->objects[i], name);
        if (address)
            return address;
    }
    return NULL;
}

struct qmpi_group *qmpi_group_first(void)
{
    return __atomic_load_n(&groups, __ATOMIC_ACQUIRE);
}

bool qmpi_group_leads(const struct qmpi_elf_loaded *object)
{
    for (const struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        if (group->objects[0].base == object->base)
            return true;
    }
    return false;
}
