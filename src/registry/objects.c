/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "registry/objects.h"

#include "util/util.h"

#include <stdlib.h>

static struct qmpi_group *groups; /* grows only */

struct qmpi_group *qmpi_group_make(struct qmpi_layer *layer, const struct qmpi_elf_loaded *objects,
                                   int count, char *shares)
{
    struct qmpi_group *group = qmpi_allocate(1, sizeof *group);
    group->layer = layer;
    group->shares = shares;
    group->objects = qmpi_allocate((size_t)count, sizeof *group->objects);
    group->count = count;
    for (int i = 0; i < count; i++) {
        group->objects[i] = objects[i];
        group->objects[i].name = qmpi_copy(objects[i].name);
    }
    group->next = qmpi_group_first();
    while (!__atomic_compare_exchange_n(&groups, &group->next, group, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        continue;
    return group;
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

bool qmpi_group_is_redirected(const struct qmpi_elf_loaded *object)
{
    for (const struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        if (group->objects[0].base == object->base)
            return true;
    }
    return false;
}
