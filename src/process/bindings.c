/* SPDX-License-Identifier: MIT */
/* See bindings.h. */
#define _GNU_SOURCE
#include "process/bindings.h"

#include "functions/functions.h"
#include "util/util.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct binding {
    struct qmpi_elf_loaded object;
    struct binding *next;
};

/* A list in the order of discovery, which any thread may read; elements are never removed. One
 * thread at a time adds a complete element with release order; others load pointers with acquire
 * order. */
static struct binding *bindings;

/* Only tells whether it is worth looking at the list. */
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

bool qmpi_binding_function_at(const void *address, const char **name)
{
    const struct binding *binding = first_binding();
    while (binding && !qmpi_elf_loaded_contains(&binding->object, address))
        binding = next_binding(binding);
    *name = binding ? qmpi_elf_loaded_function_at(&binding->object, address) : NULL;
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

/* ---- Names of procedures --------------------------------------------------------------------- */

static size_t remove_suffix(char *name, size_t length, const char *suffix)
{
    const size_t suffix_length = strlen(suffix);
    if (length > suffix_length && !strcmp(name + length - suffix_length, suffix))
        name[length -= suffix_length] = '\0';
    return length;
}

int qmpi_binding_function(const char *name)
{
    char function[80];
    size_t length = strlen(name);
    if (tolower((unsigned char)name[0]) != 'm' || strncasecmp(name, "mpi_", 4) != 0 ||
        length >= sizeof function || qmpi_function_find(name) >= 0)
        return -1;
    for (size_t i = 0; i <= length; i++) {
        const int letter = (unsigned char)name[i];
        function[i] = (char)(i < 3 || i == 4 ? toupper(letter) : tolower(letter));
    }
    while (length > 4 && function[length - 1] == '_')
        function[--length] = '\0';
    length = remove_suffix(function, length, "_f08");
    remove_suffix(function, length, "_f08ts");
    return qmpi_function_find(function);
}

/* In MPICH's mpi_f08, the prefix of the procedures in the profiling interface is pmpir_. */
int qmpi_binding_pmpi_function(const char *name)
{
    char plain[80];
    if (tolower((unsigned char)name[0]) != 'p' || strlen(name) >= sizeof plain)
        return -1;
    strcpy(plain, name + 1);
    if (!strncmp(plain, "mpir_", 5))
        memmove(plain + 3, plain + 4, strlen(plain + 4) + 1);
    return qmpi_binding_function(plain);
}

bool qmpi_binding_is_procedure(const char *name)
{
    return qmpi_binding_function(name) >= 0;
}

bool qmpi_binding_has_procedures(const struct qmpi_elf_image *image)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            qmpi_binding_is_procedure(qmpi_elf_string(image, image->symbols[i].st_name)))
            return true;
    }
    return false;
}
