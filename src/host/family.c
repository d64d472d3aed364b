/* SPDX-License-Identifier: MIT */
/* See family.h. */
#define _GNU_SOURCE
#include "family.h"

#include "group.h"
#include "message.h"
#include "resident.h"

#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 512 };

struct all {
    struct qmpi_elf_loaded objects[OBJECTS_MAX];
    bool programs[OBJECTS_MAX]; /* reached from the program without passing through a tool */
    bool tools[OBJECTS_MAX];    /* reached from the tool */
    int count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    struct all *all = data;
    (void)size;
    if (all->count < OBJECTS_MAX && qmpi_elf_loaded_read(info, &all->objects[all->count]))
        all->count++;
    return 0;
}

static int find(const struct all *all, const char *needed)
{
    for (int i = 0; i < all->count; i++) {
        const char *slash = strrchr(all->objects[i].name, '/');
        const char *soname = qmpi_elf_soname(&all->objects[i].image);
        if (!strcmp(soname ? soname : slash ? slash + 1 : all->objects[i].name, needed))
            return i;
    }
    return -1;
}

static bool is_tool(const struct qmpi_elf_loaded *object)
{
    return qmpi_resident_holds(object->image.dynamic) != NULL;
}

/* Marks all that `from` needs; the way ends at MPI's libraries and at tools. */
static void mark(const struct all *all, int from, bool *marks)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(&all->objects[from].image, i)); i++) {
        const int index = find(all, needed);
        if (index < 0 || marks[index] || qmpi_group_is_mpi(&all->objects[index]) ||
            is_tool(&all->objects[index]))
            continue;
        marks[index] = true;
        mark(all, index, marks);
    }
}

struct qmpi_elf_loaded *qmpi_family_of(const struct qmpi_elf_loaded *tool, int *count)
{
    struct all *all = qmpi_allocate(1, sizeof *all);
    dl_iterate_phdr(collect, all);
    for (int i = 0; i < all->count; i++) {
        if (!*all->objects[i].name) /* the program */
            mark(all, i, all->programs);
        if (all->objects[i].base == tool->base)
            mark(all, i, all->tools);
    }
    struct qmpi_elf_loaded *family = qmpi_allocate((size_t)all->count + 1, sizeof *family);
    *count = 0;
    family[(*count)++] = *tool;
    for (int i = 0; *tool->name && i < all->count; i++) {
        if (all->tools[i] && !all->programs[i] && all->objects[i].base != tool->base)
            family[(*count)++] = all->objects[i];
    }
    free(all);
    return family;
}
