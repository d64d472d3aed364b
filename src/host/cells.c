/* SPDX-License-Identifier: MIT */
/* See cells.h. */
#define _GNU_SOURCE
#include "cells.h"

#include "below.h"
#include "elf_rewrite.h"
#include "message.h"
#include "references.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The pages of one object that are read-only after relocation. */
struct pages {
    struct qmpi_elf_pages relro;
    bool used; /* a cell lies in them */
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

/* What is noted of one object. */
struct noting {
    const struct qmpi_group *group;
    bool program;
    struct pages *pages;
};

static void note(void *data, const struct qmpi_elf_reference *reference)
{
    struct noting *noting = data;
    const int tool_id = noting->group->layer->tool_id;
    const int number = qmpi_references_number(noting->group, reference->name, noting->program);
    if (number < 0 || !qmpi_chain_below(tool_id, number))
        return;
    /* What does not lie as a pointer should cannot be changed under those who read it. */
    if ((uintptr_t)reference->place % sizeof *reference->place)
        return;
    struct pages *pages = noting->pages;
    struct cell *cell = qmpi_allocate(1, sizeof *cell);
    const bool inside = (size_t)((char *)reference->place - pages->relro.start) < pages->relro.size;
    pages->used |= inside;
    *cell = (struct cell){.place = reference->place,
                          .target = *reference->place,
                          .addend = reference->addend,
                          .number = number,
                          .pages = inside ? pages : NULL,
                          .next = cells[tool_id]};
    cells[tool_id] = cell;
}

void qmpi_cells_note(const struct qmpi_group *group, const struct qmpi_elf_loaded *object,
                     bool program)
{
    struct pages *pages = qmpi_allocate(1, sizeof *pages);
    struct noting noting = {group, program, pages};
    pages->relro = qmpi_elf_relro(object);
    qmpi_elf_references(object, note, &noting);
    if (!pages->used)
        free(pages);
}

static bool open_pages(struct pages *pages)
{
    if (pages && !pages->open)
        pages->open = mprotect(pages->relro.start, pages->relro.size, PROT_READ | PROT_WRITE) == 0;
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
            mprotect(cell->pages->relro.start, cell->pages->relro.size, PROT_READ);
            cell->pages->open = false;
        }
    }
}
