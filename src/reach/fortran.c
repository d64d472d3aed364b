/* SPDX-License-Identifier: MIT */
/* See fortran.h. */
#define _GNU_SOURCE
#include "fortran.h"

#include "binding.h"
#include "elf_rewrite.h"
#include "message.h"
#include "names.h"
#include "resident.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* mpi_send_, mpi_send__, mpi_send, MPI_SEND and mpi_send_f08_ are Fortran's; MPI_Send is C's. */
static bool is_fortran_name(const char *name)
{
    return tolower((unsigned char)name[0]) == 'm' && !strncasecmp(name, "mpi_", 4) &&
           qmpi_name_find(name) < 0;
}

static void *target_of(void *data, const char *name, enum qmpi_binding binding)
{
    const struct qmpi_group *top = data;
    (void)binding;
    void *procedure = is_fortran_name(name) ? qmpi_binding_find(name) : NULL;
    void *wrapper = procedure && top ? qmpi_group_find(top, name) : NULL;
    return wrapper ? wrapper : procedure;
}

static bool is_resident(const struct qmpi_elf_loaded *object)
{
    for (int i = 0; i < qmpi_resident_count(); i++) {
        const struct qmpi_resident *resident = qmpi_resident_get(i);
        if (!resident->program && resident->object.base == object->base)
            return true;
    }
    return false;
}

/* The program and its libraries: all that is neither MPI nor a tool. */
static int lead(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || qmpi_binding_is(&object) || is_resident(&object) ||
        qmpi_elf_loaded_find(&object, "PMPI_Get_library_version") ||
        qmpi_group_of(object.image.dynamic))
        return 0;
    char *problem = qmpi_elf_rewrite(&object, target_of, data);
    if (problem)
        qmpi_debug(QMPI_TOPIC_LOAD, "Fortran calls of %s stay as they are: %-s", object.name,
                   problem);
    free(problem);
    return 0;
}

static bool has_wrappers(const struct qmpi_group *group)
{
    for (int i = 0; i < group->count; i++) {
        const struct qmpi_elf_image *image = &group->objects[i].image;
        const size_t count = qmpi_elf_symbol_count(image);
        for (size_t k = 0; k < count; k++) {
            if (qmpi_elf_defines(&image->symbols[k]) &&
                is_fortran_name(qmpi_elf_string(image, image->symbols[k].st_name)))
                return true;
        }
    }
    return false;
}

void qmpi_fortran_begin(void)
{
    if (!qmpi_binding_count())
        return;
    qmpi_resident_find();
    if (qmpi_resident_count())
        dl_iterate_phdr(lead, NULL);
}

void qmpi_fortran_lead_to(const struct qmpi_group *top)
{
    if (qmpi_binding_count() && top && has_wrappers(top))
        dl_iterate_phdr(lead, (void *)top);
}
