/* SPDX-License-Identifier: MIT */
/* See elf_rewrite.h. */
#define _GNU_SOURCE
#include "elf_rewrite.h"

#include "message.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct qmpi_elf_pages qmpi_elf_relro(const struct qmpi_elf_loaded *object)
{
    const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_GNU_RELRO)
            continue;
        /* As the loader does: only whole pages. */
        const ElfW(Addr) start = (object->base + segment->p_vaddr) & ~(page - 1);
        const ElfW(Addr) end = (object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        return (struct qmpi_elf_pages){(char *)start, end > start ? end - start : 0};
    }
    return (struct qmpi_elf_pages){NULL, 0};
}

static void visit_table(const struct qmpi_elf_loaded *object, int64_t address_tag, int64_t size_tag,
                        qmpi_elf_visit *visit, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    const uint64_t address = qmpi_elf_tag(image, address_tag, 0);
    const uint64_t size = qmpi_elf_tag(image, size_tag, 0);
    const ElfW(Rela) *table = qmpi_elf_loaded_at(object, address);
    /* Those that the loader takes for relative ones stand in front, and refer to no symbol. */
    const size_t first = address_tag == DT_RELA ? qmpi_elf_tag(image, DT_RELACOUNT, 0) : 0;
    for (size_t i = first; address && i < size / sizeof *table; i++) {
        const enum qmpi_binding binding = qmpi_arch_binding(&table[i]);
        const size_t index = ELF64_R_SYM(table[i].r_info);
        if (binding == QMPI_BINDING_NONE || index == 0)
            continue;
        const struct qmpi_elf_reference reference = {
            .name = qmpi_elf_string(image, image->symbols[index].st_name),
            .binding = binding,
            .place = (char **)(object->base + table[i].r_offset),
            .addend = binding == QMPI_BINDING_DATA ? table[i].r_addend : 0,
        };
        visit(data, &reference);
    }
}

static bool is_readable(const struct qmpi_elf_image *image)
{
    return qmpi_elf_tag(image, DT_PLTREL, DT_RELA) == DT_RELA && !qmpi_elf_tag(image, DT_REL, 0);
}

void qmpi_elf_references(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit, void *data)
{
    if (!is_readable(&object->image))
        return;
    visit_table(object, DT_JMPREL, DT_PLTRELSZ, visit, data);
    visit_table(object, DT_RELA, DT_RELASZ, visit, data);
}

struct rewriting {
    qmpi_elf_target *target;
    void *data;
};

static void rewrite(void *data, const struct qmpi_elf_reference *reference)
{
    const struct rewriting *rewriting = data;
    char *leads_to = rewriting->target(rewriting->data, reference->name, reference->binding);
    if (leads_to)
        *reference->place = leads_to + reference->addend;
}

char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    if (!is_readable(image))
        return qmpi_message("%s has relocations of a kind that this processor does not use",
                            object->name);
    if (qmpi_elf_tag(image, DT_TEXTREL, 0) || (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_TEXTREL))
        return qmpi_message("%s has relocations in its code\nmend: build it with -fPIC",
                            object->name);
    struct rewriting rewriting = {target, data};
    const struct qmpi_elf_pages relro = qmpi_elf_relro(object);
    if (relro.size && mprotect(relro.start, relro.size, PROT_READ | PROT_WRITE) != 0)
        return qmpi_message("%s: its references cannot be changed: %s", object->name,
                            strerror(errno));
    qmpi_elf_references(object, rewrite, &rewriting);
    if (relro.size)
        mprotect(relro.start, relro.size, PROT_READ);
    return NULL;
}
