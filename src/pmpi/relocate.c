/* SPDX-License-Identifier: MIT */
/* See relocate.h. */
#define _GNU_SOURCE
#include "pmpi/relocate.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/atexit.h"
#include "pmpi/copies_made.h"
#include "pmpi/dlsym.h"
#include "pmpi/environ.h"
#include "pmpi/exported.h"
#include "pmpi/next.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

/* What the layer defines itself. A library that the tool opened has the tool's, as it would have
 * without us, when the tool is preloaded. */
static void *find_in_layer(const struct qmpi_group *group, const char *name)
{
    return qmpi_group_find(group->layer->group, name);
}

int qmpi_relocate_function(const struct qmpi_group *group, const char *name, bool program)
{
    if (!strncmp(name, "PMPI", 4))
        return qmpi_name_find(name + 1);
    const int number = name[0] == 'M' && !program ? qmpi_name_find(name) : -1;
    return number >= 0 && find_in_layer(group, name) ? -1 : number;
}

/*
 * Copies of libraries: the loader finds the originals where they are in the global scope, now or
 * when it binds a call later. What it finds there of anybody else's it would find without us.
 */
static void *find_in_copies(const struct qmpi_group *group, const char *name)
{
    const struct qmpi_group *main_group = group->layer->group;
    void *found = qmpi_group_find(group, name);
    struct qmpi_elf_loaded holder;
    if (!found)
        found = qmpi_group_find(main_group, name);
    const void *global = found ? qmpi_tool_dlsym_global(name) : NULL;
    if (!global || global == found)
        return found;
    return qmpi_elf_loaded_holder(global, &holder) && qmpi_copies_find(group->layer, holder.name)
               ? found
               : NULL;
}

/*
 * MPI_IN_PLACE and its like are variables in Fortran, which every library that names them defines.
 * All mean the first of them, by whose address MPI knows the constant; a copy would mean its own.
 */
static void *find_constant(const struct qmpi_group *group, const char *name)
{
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    if (strncasecmp(name, "mpi", 3) != 0 || qmpi_name_find(name) >= 0 ||
        qmpi_procedures_named(name) || !qmpi_group_find(group, name) ||
        (!qmpi_binding_find(name) && !qmpi_base_symbol(name)))
        return NULL;
    return look_up(RTLD_DEFAULT, name);
}

/* Where a reference to `name` belongs; NULL: where it is. */
static void *target_of(const struct qmpi_group *group, const char *name, bool program)
{
    struct qmpi_layer *layer = group->layer;
    const int number = qmpi_relocate_function(group, name, program);
    if (number >= 0)
        return (void *)(uintptr_t)qmpi_thunk_of(layer, number);
    if (!strncmp(name, "PMPI", 4))
        return NULL;
    void *constant = find_constant(group, name);
    if (constant)
        return constant;
    if (name[0] == 'M' && !program)
        return qmpi_name_find(name) < 0 ? NULL : find_in_layer(group, name);
    if (!strcmp(name, "dlsym"))
        return (void *)(uintptr_t)dlsym;
    if (!strcmp(name, "dlopen"))
        return (void *)(uintptr_t)qmpi_dlopen;
    if (!strcmp(name, "__cxa_atexit"))
        return (void *)(uintptr_t)qmpi_tool_cxa_atexit;
    if (qmpi_tool_getenv_wanted(layer)) {
        if (!strcmp(name, "environ") || !strcmp(name, "__environ") || !strcmp(name, "_environ"))
            return qmpi_tool_environ(layer);
        if (!strcmp(name, "getenv"))
            return (void *)(uintptr_t)qmpi_tool_getenv;
        if (!strcmp(name, "secure_getenv") || !strcmp(name, "__secure_getenv"))
            return (void *)(uintptr_t)qmpi_tool_secure_getenv;
    }
    return layer->shares ? find_in_copies(group, name) : NULL;
}

static void count(struct qmpi_relocation_counts *counts, enum qmpi_binding binding,
                  const char *name)
{
    counts->dlsym += !strcmp(name, "dlsym");
    if (strncmp(name, "PMPI", 4) != 0)
        return;
    counts->calls += binding == QMPI_BINDING_CALL;
    counts->got += binding == QMPI_BINDING_GOT;
    counts->data += binding == QMPI_BINDING_DATA;
}

struct rewriting {
    const struct qmpi_group *group;
    bool program;
    struct qmpi_relocation_counts *counts;
};

static void *rewrite(void *data, const char *name, enum qmpi_binding binding)
{
    const struct rewriting *rewriting = data;
    void *target = target_of(rewriting->group, name, rewriting->program);
    if (target)
        count(rewriting->counts, binding, name);
    return target;
}

char *qmpi_relocate_object(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                           bool program, struct qmpi_relocation_counts *counts)
{
    struct rewriting rewriting = {group, program, counts};
    char *problem = qmpi_elf_rewrite(object, rewrite, &rewriting);
    if (!problem && qmpi_thunks_error())
        problem = qmpi_message("the PMPI tool is above a QMPI tool, and %s\n"
                               "hint: list QMPI tools above PMPI tools",
                               qmpi_thunks_error());
    return problem;
}
