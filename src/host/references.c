/* SPDX-License-Identifier: MIT */
/* See references.h. */
#define _GNU_SOURCE
#include "references.h"

#include "arch.h"
#include "below.h"
#include "layer.h"
#include "message.h"
#include "names.h"
#include "tool_getenv.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The pages that the loader made read-only after relocation: writable for a moment, then as before.
 */
struct relro {
    void *start;
    size_t size;
};

static struct relro find_relro(const struct qmpi_elf_loaded *object)
{
    const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_GNU_RELRO)
            continue;
        /* As the loader does: only whole pages. */
        const ElfW(Addr) start = (object->base + segment->p_vaddr) & ~(page - 1);
        const ElfW(Addr) end = (object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        return (struct relro){(void *)start, end > start ? end - start : 0};
    }
    return (struct relro){NULL, 0};
}

/* Where a reference to `name` belongs; NULL: where it is. */
static void *target_of(const struct qmpi_group *group, const char *name, bool program)
{
    struct qmpi_layer *layer = group->layer;
    if (name[0] == 'P' && !strncmp(name, "PMPI", 4)) {
        const int number = qmpi_name_find(name + 1);
        return number < 0 ? NULL : (void *)(uintptr_t)qmpi_below(layer, number);
    }
    if (name[0] == 'M' && !program) {
        const int number = qmpi_name_find(name);
        void *own = number < 0 ? NULL : qmpi_group_find(group, name);
        return number < 0 || own ? own : (void *)(uintptr_t)qmpi_below(layer, number);
    }
    if (!strcmp(name, "dlsym"))
        return (void *)(uintptr_t)dlsym;
    if (qmpi_tool_getenv_wanted(layer)) {
        if (!strcmp(name, "getenv"))
            return (void *)(uintptr_t)qmpi_tool_getenv;
        if (!strcmp(name, "secure_getenv") || !strcmp(name, "__secure_getenv"))
            return (void *)(uintptr_t)qmpi_tool_secure_getenv;
    }
    return NULL;
}

static void count(struct qmpi_references *counts, enum qmpi_binding binding, const char *name)
{
    counts->dlsym += !strcmp(name, "dlsym");
    if (strncmp(name, "PMPI", 4) != 0)
        return;
    counts->calls += binding == QMPI_BINDING_CALL;
    counts->got += binding == QMPI_BINDING_GOT;
    counts->data += binding == QMPI_BINDING_DATA;
}

static char *rewrite_table(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                           bool program, const ElfW(Rela) * table, size_t size,
                           struct qmpi_references *counts)
{
    for (size_t i = 0; i < size / sizeof *table; i++) {
        const enum qmpi_binding binding = qmpi_arch_binding(&table[i]);
        const size_t index = ELF64_R_SYM(table[i].r_info);
        if (binding == QMPI_BINDING_NONE || index == 0)
            continue;
        const char *name = qmpi_elf_string(&object->image, object->image.symbols[index].st_name);
        char *target = target_of(group, name, program);
        if (qmpi_below_problem())
            return qmpi_format("it stands above a native layer, and %s\nmend: list the native "
                               "tools above it",
                               qmpi_below_problem());
        if (!target)
            continue;
        count(counts, binding, name);
        char **place = (char **)(object->base + table[i].r_offset);
        *place = target + (binding == QMPI_BINDING_DATA ? table[i].r_addend : 0);
    }
    return NULL;
}

static const void *table_at(const struct qmpi_elf_loaded *object, uint64_t address)
{
    return (const void *)(address < object->base ? address + object->base : address);
}

char *qmpi_references_rewrite(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                              bool program, struct qmpi_references *counts)
{
    const struct qmpi_elf_image *image = &object->image;
    const uint64_t calls = qmpi_elf_tag(image, DT_JMPREL, 0);
    const uint64_t others = qmpi_elf_tag(image, DT_RELA, 0);
    if ((calls && qmpi_elf_tag(image, DT_PLTREL, DT_RELA) != DT_RELA) ||
        qmpi_elf_tag(image, DT_REL, 0))
        return qmpi_format("%s has relocations of a kind that this processor does not use",
                           object->name);
    if (qmpi_elf_tag(image, DT_TEXTREL, 0) || (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_TEXTREL))
        return qmpi_format("%s has relocations in its code\nmend: build it with -fPIC",
                           object->name);

    const struct relro relro = find_relro(object);
    if (relro.size && mprotect(relro.start, relro.size, PROT_READ | PROT_WRITE) != 0)
        return qmpi_format("%s: its references cannot be changed: %s", object->name,
                           strerror(errno));
    char *problem = NULL;
    if (calls)
        problem = rewrite_table(group, object, program, table_at(object, calls),
                                qmpi_elf_tag(image, DT_PLTRELSZ, 0), counts);
    if (!problem && others)
        problem = rewrite_table(group, object, program, table_at(object, others),
                                qmpi_elf_tag(image, DT_RELASZ, 0), counts);
    if (relro.size)
        mprotect(relro.start, relro.size, PROT_READ);
    return problem;
}
