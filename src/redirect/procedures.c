/* SPDX-License-Identifier: MIT */
/* See procedures.h. */
#define _GNU_SOURCE
#include "redirect/procedures.h"

#include "elf/elf.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>

enum kind { FOREIGN, TOOL, BINDING };

struct definer {
    struct qmpi_elf_loaded object;
    enum kind kind;
};

struct definers {
    struct definer *all;
    int count, room;
};

static struct definers definers; /* in the loader's order; all tools, whatever they define */

static void add(struct definers *list, const struct qmpi_elf_loaded *object, enum kind kind)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 8;
        struct definer *more = qmpi_allocate((size_t)room, sizeof *more);
        for (int i = 0; i < list->count; i++)
            more[i] = list->all[i];
        free(list->all);
        *list = (struct definers){more, list->count, room};
    }
    list->all[list->count++] = (struct definer){*object, kind};
}

static bool has_tool(const struct definers *list, ElfW(Addr) base)
{
    for (int i = 0; i < list->count; i++) {
        if (list->all[i].kind == TOOL && list->all[i].object.base == base)
            return true;
    }
    return false;
}

static struct definers find_tools(void)
{
    struct definers tools = {NULL, 0, 0};
    qmpi_preloaded_find();
    for (int i = 0; i < qmpi_preloaded_count(); i++) {
        const struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_get(i);
        if (preloaded->program)
            continue;
        int count;
        struct qmpi_elf_loaded *dependencies = qmpi_closure_of(&preloaded->object, &count);
        for (int k = 0; k < count; k++)
            add(&tools, &dependencies[k], TOOL);
        free(dependencies);
    }
    return tools;
}

static int consider(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct definers *tools = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    if (has_tool(tools, object.base))
        add(&definers, &object, TOOL);
    else if (qmpi_is_binding(&object))
        add(&definers, &object, BINDING);
    else if (!qmpi_is_mpi(&object) && qmpi_procedures_defined(&object.image))
        add(&definers, &object, FOREIGN);
    return 0;
}

void qmpi_procedures_find(void)
{
    struct definers tools = find_tools();
    qmpi_elf_walk(consider, &tools);
    free(tools.all);
    for (int i = 0; i < definers.count; i++) { /* we go on looking into them */
        if (*definers.all[i].object.name)
            dlopen(definers.all[i].object.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

bool qmpi_procedures_led(const struct qmpi_elf_loaded *object, const char *name)
{
    for (int i = 0; i < definers.count; i++) {
        if (qmpi_elf_loaded_find(&definers.all[i].object, name))
            return definers.all[i].kind != FOREIGN;
    }
    return !qmpi_elf_loaded_find(object, name);
}

bool qmpi_procedures_of_tool(ElfW(Addr) base)
{
    return has_tool(&definers, base);
}
