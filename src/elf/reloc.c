/* SPDX-License-Identifier: MIT */
/* See reloc.h. */
#define _GNU_SOURCE
#include "elf/reloc.h"

#include "elf/pages.h"
#include "util/util.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

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
        const struct qmpi_elf_relocation relocation = {
            .name = qmpi_elf_string(image, image->symbols[index].st_name),
            .binding = binding,
            .place = (char **)(object->base + table[i].r_offset),
            .addend = binding == QMPI_BINDING_DATA ? table[i].r_addend : 0,
        };
        visit(data, &relocation);
    }
}

static bool has_read_access(const struct qmpi_elf_image *image)
{
    return qmpi_elf_tag(image, DT_PLTREL, DT_RELA) == DT_RELA && !qmpi_elf_tag(image, DT_REL, 0);
}

void qmpi_elf_visit_relocations(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit,
                                void *data)
{
    if (!has_read_access(&object->image))
        return;
    visit_table(object, DT_JMPREL, DT_PLTRELSZ, visit, data);
    visit_table(object, DT_RELA, DT_RELASZ, visit, data);
}

struct asking {
    qmpi_elf_target *target;
    void *data;
    bool answered;
};

static void ask(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct asking *asking = data;
    asking->answered =
        asking->answered || asking->target(asking->data, relocation->name, relocation->binding);
}

bool qmpi_elf_refers(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    struct asking asking = {target, data, false};
    qmpi_elf_visit_relocations(object, ask, &asking);
    return asking.answered;
}

struct rewriting {
    qmpi_elf_target *target;
    void *data;
    struct qmpi_elf_pages pages;
    int error;
};

static void rewrite(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct rewriting *rewriting = data;
    char *target_address =
        rewriting->target(rewriting->data, relocation->name, relocation->binding);
    char **const place = relocation->place, *now;
    if (!target_address)
        return;
    target_address += relocation->addend;
    memcpy(&now, place, sizeof now); /* in data it may not lie as a pointer should */
    if (now == target_address)
        return;
    const bool aligned = (uintptr_t)place % sizeof *place == 0;
    if (!qmpi_elf_pages_open(&rewriting->pages, place) ||
        (!aligned && !qmpi_elf_pages_open(&rewriting->pages, (char *)(place + 1) - 1)))
        rewriting->error = errno;
    else if (!aligned)
        memcpy(place, &target_address, sizeof target_address);
    else
        __atomic_store_n(place, target_address,
                         __ATOMIC_RELEASE); /* others call through it meanwhile */
}

char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    if (!has_read_access(image))
        return qmpi_message("%s has relocations of a type that this processor does not use",
                            object->name);
    if (qmpi_elf_tag(image, DT_TEXTREL, 0) || (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_TEXTREL))
        return qmpi_message("%s has relocations in its code\nhint: build it with -fPIC",
                            object->name);
    struct rewriting rewriting = {.target = target, .data = data};
    qmpi_elf_visit_relocations(object, rewrite, &rewriting);
    qmpi_elf_pages_close(&rewriting.pages);
    return rewriting.error ? qmpi_message("cannot change the relocations of %s: %s", object->name,
                                          strerror(rewriting.error))
                           : NULL;
}
