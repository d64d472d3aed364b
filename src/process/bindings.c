/* SPDX-License-Identifier: MIT */
/* See bindings.h. */
#define _GNU_SOURCE
#include "process/bindings.h"

#include "util/util.h"

/* In the order in which they were found; any thread may go through them, and none is taken away. */
struct binding {
    struct qmpi_elf_loaded object;
    struct binding *next;
};
static struct binding *bindings;
bool qmpi_binding_any;

static struct binding *first_binding(void)
{
    return __atomic_load_n(&bindings, __ATOMIC_ACQUIRE);
}

static struct binding *next_binding(const struct binding *binding)
{
    return __atomic_load_n(&binding->next, __ATOMIC_ACQUIRE);
}

bool qmpi_binding_is_known(const struct qmpi_elf_loaded *object)
{
    const struct binding *binding = first_binding();
    while (binding && binding->object.base != object->base)
        binding = next_binding(binding);
    return binding != NULL;
}

void *qmpi_binding_find(const char *name)
{
    void *procedure = NULL;
    const struct binding *binding = first_binding();
    for (; !procedure && binding; binding = next_binding(binding))
        procedure = qmpi_elf_loaded_find(&binding->object, name);
    return procedure;
}

bool qmpi_binding_holds(const void *address)
{
    const struct binding *binding = first_binding();
    while (binding && !qmpi_elf_loaded_contains(&binding->object, address))
        binding = next_binding(binding);
    return binding != NULL;
}

void qmpi_binding_add(const struct qmpi_elf_loaded *object)
{
    struct binding *binding = qmpi_allocate(1, sizeof *binding), **last = &bindings;
    binding->object = *object;
    binding->object.name = qmpi_copy(object->name);
    while (*last)
        last = &(*last)->next;
    __atomic_store_n(last, binding, __ATOMIC_RELEASE);
    __atomic_store_n(&qmpi_binding_any, true, __ATOMIC_RELEASE);
}
