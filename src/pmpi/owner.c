/* SPDX-License-Identifier: MIT */
/* See owner.h. */
#define _GNU_SOURCE
#include "pmpi/owner.h"

#include "functions/functions.h"
#include "pmpi/next.h"
#include "pmpi/opening.h"
#include "process/process.h"
#include "registry/registry.h"

bool qmpi_pmpi_is_used;

struct qmpi_layer *qmpi_pmpi_layer_of(const void *address)
{
    /* First: what libqmpi itself opens while a tool is loaded would be sought in all closures. */
    const struct qmpi_group *group =
        qmpi_is_in_self(address) ? NULL : qmpi_opening_group_of(address);
    return group ? group->layer : NULL;
}

qmpi_function *qmpi_pmpi_target(int number, const void *caller, bool pmpi)
{
    struct qmpi_layer *layer = qmpi_pmpi_layer_of(caller);
    struct qmpi_elf_loaded object;
    if (!layer)
        return NULL;
    const void *found = !pmpi && qmpi_elf_loaded_holder(caller, &object)
                            ? qmpi_elf_loaded_find(&object, qmpi_names[number].name)
                            : NULL;
    return found ? (qmpi_function *)(uintptr_t)found : qmpi_thunk_of(layer, number);
}
