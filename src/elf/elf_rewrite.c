/* SPDX-License-Identifier: MIT */
/* See elf_rewrite.h. */
#define _GNU_SOURCE
#include "elf_rewrite.h"

#include "message.h"

#include <errno.h>
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

static void rewrite_table(const struct qmpi_elf_loaded *object, uint64_t address, uint64_t size,
                          qmpi_elf_target *target, void *data)
{
    const ElfW(Rela) *table = qmpi_elf_loaded_at(object, address);
    for (size_t i = 0; address && i < size / sizeof *table; i++) {
        const enum qmpi_binding binding = qmpi_arch_binding(&table[i]);
        const size_t index = ELF64_R_SYM(table[i].r_info);
        if (binding == QMPI_BINDING_NONE || index == 0)
            continue;
        const char *name = qmpi_elf_string(&object->image, object->image.symbols[index].st_name);
        char *leads_to = target(data, name, binding);
        char **place = (char **)(object->base + table[i].r_offset);
        if (leads_to)
            *place = leads_to + (binding == QMPI_BINDING_DATA ? table[i].r_addend : 0);
    }
}

char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    if (qmpi_elf_tag(image, DT_PLTREL, DT_RELA) != DT_RELA || qmpi_elf_tag(image, DT_REL, 0))
        return qmpi_format("%s has relocations of a kind that this processor does not use",
                           object->name);
    if (qmpi_elf_tag(image, DT_TEXTREL, 0) || (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_TEXTREL))
        return qmpi_format("%s has relocations in its code\nmend: build it with -fPIC",
                           object->name);
    const struct relro relro = find_relro(object);
    if (relro.size && mprotect(relro.start, relro.size, PROT_READ | PROT_WRITE) != 0)
        return qmpi_format("%s: its references cannot be changed: %s", object->name,
                           strerror(errno));
    rewrite_table(object, qmpi_elf_tag(image, DT_JMPREL, 0), qmpi_elf_tag(image, DT_PLTRELSZ, 0),
                  target, data);
    rewrite_table(object, qmpi_elf_tag(image, DT_RELA, 0), qmpi_elf_tag(image, DT_RELASZ, 0),
                  target, data);
    if (relro.size)
        mprotect(relro.start, relro.size, PROT_READ);
    return NULL;
}
