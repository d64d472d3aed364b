/* SPDX-License-Identifier: MIT */
/*
 * What MPICH's variant is told when it announces a tool that the user did not ask for: an error, as
 * in MPICH where other tools are listed or none can be. Such tools conclude from it that they will
 * not be called. Ours learn that by not being initialized, so here it must be seen who announces.
 */
#define _GNU_SOURCE
#include "registry/tool_filter.h"

#include "config/config.h"
#include "elf/elf.h"

#include <string.h>
#include <sys/stat.h>

static void look(void *data, const struct qmpi_elf_relocation *relocation)
{
    bool *found = data;
    *found |= !strcmp(relocation->name, "QMPI_Register_function");
}

/* A program exports nothing, so its symbol table tells nothing, but its references do. */
static bool uses_mpich_convention(const void *code)
{
    struct qmpi_elf_loaded object;
    bool found = false;
    if (qmpi_elf_loaded_holder(code, &object))
        qmpi_elf_visit_relocations(&object, look, &found);
    return found;
}

static bool is_same_file(const char *entry, const char *path)
{
    struct stat one, other;
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!strchr(entry, '/')) /* a name that start-up will look for */
        return strstr(entry, ".so") && !strcmp(entry, base);
    return stat(entry, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static bool is_listed(const char *name, const char *path)
{
    struct qmpi_tool_stack stack;
    bool found = false;
    qmpi_stack_read(&stack);
    for (int i = 0; i < stack.layers.count; i++) {
        const char *entry = stack.layers.entries[i].name;
        found |= entry && (!strcmp(entry, name) || is_same_file(entry, path));
    }
    qmpi_stack_free(&stack);
    return found;
}

bool qmpi_mpich_is_skipped(const char *name, const void *code, const char *path)
{
    return uses_mpich_convention(code) && !is_listed(name, path);
}
