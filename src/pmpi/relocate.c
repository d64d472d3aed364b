/* SPDX-License-Identifier: MIT */
/* See relocate.h. */
#define _GNU_SOURCE
#include "pmpi/relocate.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/copies.h"
#include "pmpi/interpose.h"
#include "pmpi/thunk.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Targets --------------------------------------------------------------------------------- */

/* Returns the layer's own definition of a name; NULL: none. A library that the tool opened refers
 * to the definitions of the tool, as it would without qmpi if the tool were preloaded. */
static void *find_in_layer(const struct qmpi_layer_group *group, const char *name)
{
    return qmpi_layer_group_find(group->layer->group, name);
}

/*
 * If a reference of the group to `name` leads to the layer below, returns the number of that MPI
 * function; otherwise -1. `program`: the object is the program itself, whose references to MPI_X
 * are calls of the application.
 */
static int function_below(const struct qmpi_layer_group *group, const char *name, bool program)
{
    if (!strncmp(name, "PMPI", 4))
        return qmpi_function_find(name + 1);
    const int number = name[0] == 'M' && !program ? qmpi_function_find(name) : -1;
    return number >= 0 && find_in_layer(group, name) ? -1 : number;
}

/*
 * Returns the layer's own definition of `name`, unless the global scope contains another one; a
 * definition in the original of a library that the layer has copied does not count. NULL: the
 * reference stays as the loader bound it.
 */
static void *find_in_copies(const struct qmpi_layer_group *group, const char *name)
{
    const struct qmpi_layer_group *main_group = group->layer->group;
    void *found = qmpi_layer_group_find(group, name);
    struct qmpi_elf_loaded holder;
    if (!found)
        found = qmpi_layer_group_find(main_group, name);
    const void *global = found ? qmpi_interpose_find_global(name) : NULL;
    if (!global || global == found)
        return found;
    return qmpi_elf_loaded_containing(global, &holder) &&
                   qmpi_copies_find(group->layer, holder.name)
               ? found
               : NULL;
}

/*
 * Returns the variable of a Fortran constant like MPI_IN_PLACE; NULL: the name is not that of a
 * constant. Each library that refers to such a variable also defines it. All libraries must use the
 * first definition, because MPI compares the address, but a copy of a library would use its own.
 */
static void *find_constant(const struct qmpi_layer_group *group, const char *name)
{
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    if (strncasecmp(name, "mpi", 3) != 0 || qmpi_function_find(name) >= 0 ||
        qmpi_binding_is_procedure(name) || !qmpi_layer_group_find(group, name) ||
        (!qmpi_binding_find(name) && !qmpi_mpi_library_symbol(name)))
        return NULL;
    return look_up(RTLD_DEFAULT, name);
}

/* Returns the target of a reference to `name`; NULL: no change. */
static void *reference_target(const struct qmpi_layer_group *group, const char *name, bool program)
{
    struct qmpi_layer *layer = group->layer;
    const int number = function_below(group, name, program);
    if (number >= 0)
        return (void *)(uintptr_t)qmpi_thunk_next_function(layer, number);
    if (!strncmp(name, "PMPI", 4))
        return NULL;
    void *constant = find_constant(group, name);
    if (constant)
        return constant;
    if (name[0] == 'M' && !program)
        return qmpi_function_find(name) < 0 ? NULL : find_in_layer(group, name);
    if (!program && qmpi_binding_is_procedure(name))
        return find_in_layer(group, name);
    if (!strcmp(name, "dlsym"))
        return (void *)(uintptr_t)dlsym;
    if (!strcmp(name, "dlopen"))
        return (void *)(uintptr_t)qmpi_interpose_dlopen;
    if (!strcmp(name, "__cxa_atexit"))
        return (void *)(uintptr_t)qmpi_interpose_cxa_atexit;
    if (qmpi_interpose_wants_environ(layer)) {
        if (!strcmp(name, "environ") || !strcmp(name, "__environ") || !strcmp(name, "_environ"))
            return qmpi_interpose_environ(layer);
        if (!strcmp(name, "getenv"))
            return (void *)(uintptr_t)qmpi_interpose_getenv;
        if (!strcmp(name, "secure_getenv") || !strcmp(name, "__secure_getenv"))
            return (void *)(uintptr_t)qmpi_interpose_secure_getenv;
    }
    return layer->has_copies ? find_in_copies(group, name) : NULL;
}

/* ---- Loading --------------------------------------------------------------------------------- */

struct relocation {
    char **place;
    char *target;     /* the value that libqmpi stored last */
    ptrdiff_t addend; /* added to the address of the function */
    int number;
    struct relocation *next;
};

static struct relocation *relocations[QMPI_LAYERS_MAX + 1]; /* [tool_id] */
static struct qmpi_elf_pages pages; /* made writable by the one thread that switches layers */

static void count_reference(struct qmpi_relocate_counts *counts, enum qmpi_elf_reference reference,
                            const char *name)
{
    counts->dlsym += !strcmp(name, "dlsym");
    if (strncmp(name, "PMPI", 4) != 0)
        return;
    counts->calls += reference == QMPI_ELF_REFERENCE_CALL;
    counts->got += reference == QMPI_ELF_REFERENCE_GOT;
    counts->data += reference == QMPI_ELF_REFERENCE_DATA;
}

struct relocating {
    const struct qmpi_layer_group *group;
    bool program;
    struct qmpi_relocate_counts *counts;
};

static void *change_reference(void *data, const char *name, enum qmpi_elf_reference reference)
{
    const struct relocating *relocating = data;
    void *target = reference_target(relocating->group, name, relocating->program);
    if (target)
        count_reference(relocating->counts, reference, name);
    return target;
}

static void record_relocation(void *data, const struct qmpi_elf_relocation *reference)
{
    const struct relocating *relocating = data;
    const int tool_id = relocating->group->layer->tool_id;
    const int number = function_below(relocating->group, reference->name, relocating->program);
    if (number < 0 || !qmpi_chain_next(tool_id, number))
        return;
    /* Unaligned pointers cannot be changed atomically. */
    if ((uintptr_t)reference->place % sizeof *reference->place)
        return;
    struct relocation *relocation = qmpi_allocate(1, sizeof *relocation);
    *relocation = (struct relocation){.place = reference->place,
                                      .target = *reference->place,
                                      .addend = reference->addend,
                                      .number = number,
                                      .next = relocations[tool_id]};
    relocations[tool_id] = relocation;
}

static char *relocate_object(const struct qmpi_layer_group *group,
                             const struct qmpi_elf_loaded *object, bool program,
                             struct qmpi_relocate_counts *counts)
{
    struct relocating relocating = {group, program, counts};
    char *problem = qmpi_elf_rewrite(object, change_reference, &relocating);
    if (!problem && qmpi_thunk_error())
        problem = qmpi_message("the PMPI tool is above a QMPI tool, and %s\n"
                               "hint: list QMPI tools above PMPI tools",
                               qmpi_thunk_error());
    qmpi_elf_visit_relocations(object, record_relocation, &relocating);
    return problem;
}

char *qmpi_relocate_group(const struct qmpi_layer_group *group, struct qmpi_relocate_counts *counts)
{
    const struct qmpi_preloaded_tool *preloaded = group->layer->preloaded;
    const bool program = preloaded && preloaded->program;
    char *problem = NULL;
    for (int i = 0; i < group->count && !problem; i++)
        problem = relocate_object(group, &group->objects[i], program, counts);
    return problem;
}

/* ---- Switching ------------------------------------------------------------------------------- */

bool qmpi_relocate_unprotect(int tool_id, const QMPI_Context *row)
{
    QMPI_Context wanted[QMPI_FUNCTION_COUNT] = {NULL};
    bool good = true;
    for (const struct relocation *relocation = relocations[tool_id]; good && relocation;
         relocation = relocation->next) {
        if (!row[relocation->number])
            continue;
        wanted[relocation->number] = row[relocation->number];
        good = qmpi_elf_pages_open(&pages, relocation->place);
    }
    return good && qmpi_thunk_prepare(wanted);
}

void qmpi_relocate_apply(int tool_id, const QMPI_Context *row)
{
    for (struct relocation *relocation = relocations[tool_id]; relocation;
         relocation = relocation->next) {
        if (!row[relocation->number])
            continue;
        char *target = (char *)(uintptr_t)qmpi_thunk_node_function(row[relocation->number]) +
                       relocation->addend;
        char *expected = relocation->target;
        if (__atomic_compare_exchange_n(relocation->place, &expected, target, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            relocation->target = target;
    }
}

void qmpi_relocate_protect(void)
{
    qmpi_elf_pages_close(&pages);
}

void qmpi_relocate_forget(void)
{
    pages = (struct qmpi_elf_pages){.opened = NULL};
}
