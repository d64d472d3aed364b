/* SPDX-License-Identifier: MIT */
/* See handles.h. */
#define _GNU_SOURCE
#include "process/handles.h"

#include "elf/elf.h"
#include "process/classify.h"
#include "util/util.h"

#include <link.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
static void *target_of(void *data, const char *name, enum qmpi_binding binding)
{
    (void)binding;
    return strncmp(name, "ompi_", 5) ? NULL : qmpi_elf_loaded_find(data, name);
}

static int bind_weak_handles(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !qmpi_is_self(&object))
        return 0;
    char *problem = qmpi_elf_rewrite(&object, target_of, data);
    if (problem)
        qmpi_printf("observers cannot recognize MPI's predefined handles: %-s", problem);
    free(problem);
    return 1;
}

/* Where the program holds copies of the library's data the loader has bound us to those. */
static bool are_bound(void)
{
    return &ompi_mpi_comm_world != NULL;
}

static bool has_handles(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_find(object, "ompi_mpi_comm_world") != NULL;
}

/* Not the program, which may hold copies of the data. */
static int find_data_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded *found = data, object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !*object.name || !has_handles(&object))
        return 0;
    *found = object;
    return 1;
}

/* Since Open MPI 6, its data are in a library that its MPI library needs. */
static struct qmpi_elf_loaded holder;

void qmpi_handles_find(const struct qmpi_elf_loaded *library)
{
    holder = *library;
    if (!has_handles(library))
        qmpi_elf_walk(find_data_library, &holder);
    if (!are_bound() && has_handles(&holder))
        qmpi_elf_walk(bind_weak_handles, &holder);
}

void *qmpi_handles_symbol(const char *name)
{
    return holder.name ? qmpi_elf_loaded_find(&holder, name) : NULL;
}
#else
void qmpi_handles_find(const struct qmpi_elf_loaded *library)
{
    (void)library;
}

void *qmpi_handles_symbol(const char *name)
{
    (void)name;
    return NULL;
}
#endif
