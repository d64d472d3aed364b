/* SPDX-License-Identifier: MIT */
/* See cells.h. */
#define _GNU_SOURCE
#include "cells.h"

#include "arch.h"
#include "below.h"
#include "message.h"
#include "references.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The pages of one object that are read-only after relocation. */
struct pages {
    char *start;
    size_t size; /* 0: there are none */
    bool used;   /* a cell lies in them */
    bool open;
};

struct cell {
    char **place;
    char *target;     /* what we put there last */
    ptrdiff_t addend; /* in the target beyond the function's address */
    int number;
    struct pages *pages; /* that it lies in; NULL: it can be written at any time */
    struct cell *next;
};

/* By tool_id. */
static struct cell *cells[QMPI_LAYERS_MAX + 1];

/* As the loader does: only whole pages. */
static struct pages *find_pages(const struct qmpi_elf_loaded *object)
{
    const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    struct pages *pages = qmpi_allocate(1, sizeof *pages);
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_GNU_RELRO)
            continue;
        const ElfW(Addr) start = (object->base + segment->p_vaddr) & ~(page - 1);
        const ElfW(Addr) end = (object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        *pages = (struct pages){(char *)start, end > start ? end - start : 0, false, false};
    }
    return pages;
}

static void note(const struct qmpi_group *group, char **place, ptrdiff_t addend, int number,
                 struct pages *pages)
{
    /* What does not lie as a pointer should cannot be changed under those who read it. */
    if ((uintptr_t)place % sizeof *place)
        return;
    struct cell *cell = qmpi_allocate(1, sizeof *cell);
    const bool inside = (size_t)((char *)place - pages->start) < pages->size;
    pages->used |= inside;
    *cell = (struct cell){.place = place,
                          .target = *place,
                          .addend = addend,
                          .number = number,
                          .pages = inside ? pages : NULL,
                          .next = cells[group->layer->tool_id]};
    cells[group->layer->tool_id] = cell;
}

static int note_table(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                      bool program, struct pages *pages, int64_t address_tag, int64_t size_tag)
{
    const struct qmpi_elf_image *image = &object->image;
    const uint64_t address = qmpi_elf_tag(image, address_tag, 0);
    const ElfW(Rela) *table = qmpi_elf_loaded_at(object, address);
    const size_t size = address ? qmpi_elf_tag(image, size_tag, 0) / sizeof *table : 0;
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        const enum qmpi_binding binding = qmpi_arch_binding(&table[i]);
        const size_t index = ELF64_R_SYM(table[i].r_info);
        if (binding == QMPI_BINDING_NONE || index == 0)
            continue;
        const char *name = qmpi_elf_string(image, image->symbols[index].st_name);
        const int number = qmpi_references_number(group, name, program);
        if (number < 0 || !qmpi_chain_below(group->layer->tool_id, number))
            continue;
        note(group, (char **)(object->base + table[i].r_offset),
             binding == QMPI_BINDING_DATA ? table[i].r_addend : 0, number, pages);
        count++;
    }
    return count;
}

void qmpi_cells_note(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                     bool program)
{
    struct pages *pages = find_pages(object);
    int count = note_table(group, object, program, pages, DT_JMPREL, DT_PLTRELSZ);
    count += note_table(group, object, program, pages, DT_RELA, DT_RELASZ);
    if (!pages->used)
        free(pages);
    if (count && *object->name) /* a tool may close a library that it opened itself */
        dlopen(object->name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool open_pages(struct pages *pages)
{
    if (pages && !pages->open)
        pages->open = mprotect(pages->start, pages->size, PROT_READ | PROT_WRITE) == 0;
    return !pages || pages->open;
}

bool qmpi_cells_open(int tool_id, const QMPI_Context *row)
{
    QMPI_Context wanted[QMPI_FUNCTION_COUNT] = {NULL};
    bool good = true;
    for (const struct cell *cell = cells[tool_id]; good && cell; cell = cell->next) {
        if (!row[cell->number])
            continue;
        wanted[cell->number] = row[cell->number];
        good = open_pages(cell->pages);
    }
    return good && qmpi_below_prepare(wanted);
}

void qmpi_cells_point(int tool_id, const QMPI_Context *row)
{
    for (struct cell *cell = cells[tool_id]; cell; cell = cell->next) {
        if (!row[cell->number])
            continue;
        char *target = (char *)(uintptr_t)qmpi_below_at(row[cell->number]) + cell->addend;
        char *expected = cell->target;
        if (__atomic_compare_exchange_n(cell->place, &expected, target, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            cell->target = target;
    }
}

void qmpi_cells_close(int tool_id)
{
    for (const struct cell *cell = cells[tool_id]; cell; cell = cell->next) {
        if (cell->pages && cell->pages->open) {
            mprotect(cell->pages->start, cell->pages->size, PROT_READ);
            cell->pages->open = false;
        }
    }
}
